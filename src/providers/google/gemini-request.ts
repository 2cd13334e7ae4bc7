/**
 * Encodes a chat request in Gemini's format (generateContent, v1beta): system and developer messages become the system
 * instruction, tool results have the name of the function, and thought signatures go back to their positions.
 */
import type { ChatMessage, Part, Source } from '../chat-messages.ts'
import type { ParsedChatRequest, Reasoning } from '../chat-request.ts'
import { getNumber, omitUndefined, type Json, lookup } from '../json-fields.ts'
import { UnsupportedFeatureError } from '../provider.ts'
import { geminiFormat, detailsOfFormat } from '../reasoning-details.ts'
import { isObject } from '../usage.ts'

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

/** True for models with thinking levels; earlier ones have a token budget. */
function thinksInLevels(model: string): boolean {
  return /gemini-(?:[3-9]|\d\d)/.test(model)
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
      functionCall: { name, args: input },
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

function encodeToolMessage(message: ChatMessage, names: ReadonlyMap<string, string>): Json[] {
  const name = names.get(message.toolCallId)
  if (name === undefined) {
    const param = `${message.path}.tool_call_id`
    throw new UnsupportedFeatureError(
      param,
      `Invalid \`${param}\`: must be the id of a tool call in an earlier message.`,
    )
  }
  const others = message.parts.filter((part) => part.kind !== 'text')
  return [{ functionResponse: { name, response: encodeToolResponse(message.parts) } }, ...encodeParts(others)]
}

function encodeContents(messages: readonly ChatMessage[], model: string): Json[] {
  const names = new Map<string, string>()
  const turns: { role: string; parts: Json[] }[] = []
  for (const message of messages) {
    for (const { id, name } of message.toolCalls) names.set(id, name)
    if (message.role === 'system') continue
    const role = message.role === 'assistant' ? 'model' : 'user'
    const ofUser = message.role === 'tool' ? encodeToolMessage(message, names) : encodeParts(message.parts)
    const parts = role === 'model' ? encodeModelTurn(message, model) : ofUser
    if (parts.length === 0) continue
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else turns.push({ role, parts })
  }
  return turns
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

const budgets: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
}
const levels: Readonly<Record<string, string>> = { none: 'minimal', xhigh: 'high' }

function encodeThinking(reasoning: Reasoning, model: string): Json {
  const { effort, tokens, isHidden } = reasoning
  const includeThoughts = effort !== 'none' && !isHidden
  if (tokens !== null) return { thinkingBudget: tokens, includeThoughts }
  const level = effort ?? 'medium'
  return thinksInLevels(model)
    ? { thinkingLevel: lookup(levels, level) ?? level, includeThoughts }
    : { thinkingBudget: lookup(budgets, level) ?? budgets['medium'], includeThoughts }
}

function encodeGenerationConfig(request: ParsedChatRequest, model: string): Json {
  const { json, format, reasoning } = request
  return omitUndefined({
    maxOutputTokens: request.maximumTokens ?? undefined,
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    candidateCount: request.results > 1 ? request.results : undefined,
    stopSequences: request.stop,
    seed: getNumber(json, 'seed'),
    presencePenalty: getNumber(json, 'presence_penalty'),
    frequencyPenalty: getNumber(json, 'frequency_penalty'),
    responseMimeType: format.kind === 'text' ? undefined : 'application/json',
    responseJsonSchema: format.kind === 'schema' ? format.schema : undefined,
    thinkingConfig: reasoning === null ? undefined : encodeThinking(reasoning, model),
  })
}

/** Builds the request's body; the model's name is in the URL. */
export function buildGeminiBody(request: ParsedChatRequest, model: string): Json {
  const system = request.messages.filter(({ role }) => role === 'system')
  const parts = system.flatMap((message) => encodeParts(message.parts))
  return omitUndefined({
    systemInstruction: parts.length > 0 ? { parts } : undefined,
    contents: encodeContents(request.messages, model),
    tools: encodeTools(request),
    toolConfig: encodeToolConfig(request),
    generationConfig: encodeGenerationConfig(request, model),
  })
}
