/**
 * Encodes a chat request in Gemini's format (generateContent, v1beta): system and developer messages become the system
 * instruction, tool results have the name of the function, and thought signatures go back to their positions.
 */
import { alternateTurns } from '../alternating-turns.ts'
import type { ChatMessage, Part, Source } from '../chat-messages.ts'
import type { ParsedChatRequest, Reasoning } from '../chat-request.ts'
import { getNumber, isObject, lookup, omitUndefined, type Json } from '../json-fields.ts'
import { UnsupportedFeatureError } from '../provider.ts'
import { geminiFormat, detailsOfFormat } from '../reasoning-details.ts'

/**
 * Gemini 3 and later reject a call without its signature; this value replaces one that was not kept (Google, "Thought
 * signatures").
 */
const placeholderSignature = 'skip_thought_signature_validator'

const mediaTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  pdf: 'application/pdf',
  mp4: 'video/mp4',
}

/** Gemini 3 and later, to which the names without a version lead. */
function isThirdGeneration(model: string): boolean {
  return /gemini-(?:[3-9]|\d\d|(?:pro|flash|flash-lite)-latest)/.test(model)
}

/** True for models with thinking levels; earlier ones have a token budget. */
const thinksInLevels = isThirdGeneration

/** Calls have ids since Gemini 3, by which it pairs the responses; earlier models pair by name and position. */
function sentCallId(id: string, model: string): string | undefined {
  return isThirdGeneration(model) && id !== '' ? id : undefined
}

function encodeSource(source: Source, otherwise: string): Json {
  if (source.kind === 'data') return { inlineData: { mimeType: source.mediaType, data: source.data } }
  const ending = /^[^?#]*\.(\w+)(?:[?#]|$)/.exec(source.url)?.[1]?.toLowerCase() ?? ''
  return { fileData: { mimeType: lookup(mediaTypes, ending) ?? otherwise, fileUri: source.url } }
}

function encodePart(part: Part): Json {
  switch (part.kind) {
    case 'text':
      return { text: part.text }
    case 'image':
      return encodeSource(part.source, 'image/jpeg')
    case 'audio':
    case 'file':
      return encodeSource(part.source, 'application/pdf')
  }
}

function encodeParts(parts: readonly Part[]): Json[] {
  return parts.filter((part) => part.kind !== 'text' || part.text !== '').map(encodePart)
}

/** Encodes a model turn, with each signature on its call, or on the last text. */
function encodeModelTurn(message: ChatMessage, model: string): Json[] {
  const details = detailsOfFormat(message.reasoningDetails, geminiFormat)
  const signatureOf = (id: string | undefined): unknown =>
    details.find((detail) => detail['type'] === 'reasoning.encrypted' && detail['id'] === id)?.['data']
  const parts = encodeParts(message.parts)
  const last = parts.at(-1)
  const ofText = signatureOf(undefined)
  if (last && ofText !== undefined) parts[parts.length - 1] = { ...last, thoughtSignature: ofText }
  const calls = message.toolCalls.map(({ id, name, input }, index) => {
    const missing = index === 0 && thinksInLevels(model) ? placeholderSignature : undefined
    return omitUndefined({
      functionCall: omitUndefined({ id: sentCallId(id, model), name, args: input }),
      thoughtSignature: signatureOf(id) ?? missing,
    })
  })
  return [...parts, ...calls]
}

/** Encodes a tool result: an object unchanged, anything else as `output`. */
function encodeToolResponse(parts: readonly Part[]): Json {
  const text = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // Text, not JSON.
  }
  return { output: text }
}

function encodeToolMessage(message: ChatMessage, names: ReadonlyMap<string, string>, model: string): Json[] {
  const name = names.get(message.toolCallId)
  if (name === undefined) {
    const param = `${message.path}.tool_call_id`
    throw new UnsupportedFeatureError(param, 'must be the id of a tool call in an earlier message')
  }
  const others = message.parts.filter((part) => part.kind !== 'text')
  const id = sentCallId(message.toolCallId, model)
  const functionResponse = omitUndefined({ id, name, response: encodeToolResponse(message.parts) })
  return [{ functionResponse }, ...encodeParts(others)]
}

/** Encodes the conversation: calls must follow a user's turn, and there must be at least one turn. */
function encodeConversation(
  messages: readonly ChatMessage[],
  model: string,
): { system: Json[]; contents: Json[] } {
  const names = new Map<string, string>()
  const { systemParts, turns } = alternateTurns(messages, (message) => {
    for (const { id, name } of message.toolCalls) names.set(id, name)
    if (message.role === 'assistant') return encodeModelTurn(message, model)
    return message.role === 'tool' ? encodeToolMessage(message, names, model) : encodeParts(message.parts)
  })
  const contents = turns.map(({ role, content }) => ({
    role: role === 'assistant' ? 'model' : 'user',
    parts: content,
  }))
  return { system: encodeParts(systemParts), contents }
}

function encodeTools({ tools }: ParsedChatRequest): Json[] | undefined {
  if (tools.length === 0) return undefined
  const functionDeclarations = tools.map(({ name, description, parameters }) =>
    omitUndefined({ name, description, parametersJsonSchema: parameters }),
  )
  return [{ functionDeclarations }]
}

function encodeToolConfig({ tools, toolChoice }: ParsedChatRequest): Json | undefined {
  if (tools.length === 0 || toolChoice === null) return undefined
  if (toolChoice === 'auto') return { functionCallingConfig: { mode: 'AUTO' } }
  if (toolChoice === 'none') return { functionCallingConfig: { mode: 'NONE' } }
  if (toolChoice === 'required') return { functionCallingConfig: { mode: 'ANY' } }
  return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [toolChoice.name] } }
}

const defaultBudget = 8192
const budgets: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: defaultBudget,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}
const levels: Readonly<Record<string, string>> = { none: 'minimal', xhigh: 'high', max: 'high' }

/** The budget within the bounds of the model; 2.5 Pro cannot turn thinking off (Google, "Thinking"). */
function boundBudget(tokens: number, model: string): number {
  const isPro = model.includes('gemini-2.5-pro')
  return isPro && tokens === 0 ? 128 : Math.min(tokens, isPro ? 32_768 : 24_576)
}

function encodeThinking(reasoning: Reasoning, model: string): Json {
  const { effort, tokens, isHidden } = reasoning
  const includeThoughts = effort !== 'none' && !isHidden
  if (tokens !== null) return { thinkingBudget: boundBudget(tokens, model), includeThoughts }
  const level = effort ?? 'medium'
  return thinksInLevels(model)
    ? { thinkingLevel: lookup(levels, level) ?? level, includeThoughts }
    : { thinkingBudget: boundBudget(lookup(budgets, level) ?? defaultBudget, model), includeThoughts }
}

/** Google's maximums; the OpenAI format allows more. */
function requireMaximums({ stop = [], results }: ParsedChatRequest): void {
  if (stop.length > 5)
    throw new UnsupportedFeatureError('stop', 'must have at most 5 strings for this provider')
  if (results > 8) throw new UnsupportedFeatureError('n', 'must be at most 8 for this provider')
}

/** A seed of 64 bits, as the OpenAI format allows, becomes one of 32. */
function encodeSeed(json: Json): number | undefined {
  const seed = getNumber(json, 'seed')
  return seed === undefined ? undefined : Math.trunc(seed) % 2 ** 31
}

function encodeGenerationConfig(request: ParsedChatRequest, model: string): Json {
  const { json, format, reasoning } = request
  requireMaximums(request)
  return omitUndefined({
    maxOutputTokens: request.maximumTokens ?? undefined,
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    candidateCount: request.results > 1 ? request.results : undefined,
    stopSequences: request.stop,
    seed: encodeSeed(json),
    presencePenalty: getNumber(json, 'presence_penalty'),
    frequencyPenalty: getNumber(json, 'frequency_penalty'),
    responseMimeType: format.kind === 'text' ? undefined : 'application/json',
    responseJsonSchema: format.kind === 'schema' ? format.schema : undefined,
    thinkingConfig: reasoning === null ? undefined : encodeThinking(reasoning, model),
  })
}

/** Builds the request's body; the model's name is in the URL. */
export function buildGeminiBody(request: ParsedChatRequest, model: string): Json {
  const { system, contents } = encodeConversation(request.messages, model)
  return omitUndefined({
    systemInstruction: system.length > 0 ? { parts: system } : undefined,
    contents,
    tools: encodeTools(request),
    toolConfig: encodeToolConfig(request),
    generationConfig: encodeGenerationConfig(request, model),
  })
}
