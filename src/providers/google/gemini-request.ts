/**
 * A chat request in Gemini's words (generateContent, v1beta): system and developer messages become the instruction,
 * tools' answers go under the name of the function, and thoughts' signatures go back where they stood.
 */
import type { ChatMessage, Part, Source } from '../chat-messages.ts'
import type { ChatRequest, Reasoning } from '../chat-request.ts'
import { numberIn, present, type Json, entryOf } from '../json-fields.ts'
import { Inexpressible } from '../provider.ts'
import { geminiFormat, detailsOf } from '../reasoning-details.ts'
import { isObject } from '../usage.ts'

/** Gemini 3 and later refuse a call without its signature; this word stands for one that was not kept (Google, "Thought signatures"). */
const skippedSignature = 'skip_thought_signature_validator'

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

/** Models that think in levels; those before think by a budget of tokens. */
function thinksInLevels(model: string): boolean {
  return /gemini-(?:[3-9]|\d\d)/.test(model)
}

function sourcePart(source: Source, otherwise: string): Json {
  if (source.kind === 'data') return { inlineData: { mimeType: source.mediaType, data: source.data } }
  const ending = /\.(\w+)(?:[?#].*)?$/.exec(source.url)?.[1]?.toLowerCase() ?? ''
  return { fileData: { mimeType: entryOf(mediaTypes, ending) ?? otherwise, fileUri: source.url } }
}

function partJson(part: Part): Json {
  switch (part.kind) {
    case 'text':
      return { text: part.text }
    case 'image':
      return sourcePart(part.source, 'image/jpeg')
    case 'audio':
    case 'file':
      return sourcePart(part.source, 'application/pdf')
  }
}

function partsOf(parts: readonly Part[]): Json[] {
  return parts.filter((part) => part.kind !== 'text' || part.text !== '').map(partJson)
}

/** A model's turn, with each signature on its call, or on the last text. */
function modelParts(message: ChatMessage, model: string): Json[] {
  const details = detailsOf(message.reasoningDetails, geminiFormat)
  const signatureOf = (id: string | undefined): unknown =>
    details.find((detail) => detail['type'] === 'reasoning.encrypted' && detail['id'] === id)?.['data']
  const parts = partsOf(message.parts)
  const last = parts.at(-1)
  const ofText = signatureOf(undefined)
  if (last && ofText !== undefined) parts[parts.length - 1] = { ...last, thoughtSignature: ofText }
  const calls = message.toolCalls.map(({ id, name, input }, index) => {
    const missing = index === 0 && thinksInLevels(model) ? skippedSignature : undefined
    return present({
      functionCall: { name, args: input },
      thoughtSignature: signatureOf(id) ?? missing,
    })
  })
  return [...parts, ...calls]
}

/** What a tool has answered: an object as it is, anything else as its `output`. */
function responseOf(parts: readonly Part[]): Json {
  const text = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // Words, not JSON.
  }
  return { output: text }
}

function toolParts(message: ChatMessage, names: ReadonlyMap<string, string>): Json[] {
  const name = names.get(message.toolCallId)
  if (name === undefined) {
    const param = `${message.at}.tool_call_id`
    throw new Inexpressible(param, `${param} has to name a tool call of an earlier message.`)
  }
  const others = message.parts.filter((part) => part.kind !== 'text')
  return [{ functionResponse: { name, response: responseOf(message.parts) } }, ...partsOf(others)]
}

function contentsOf(messages: readonly ChatMessage[], model: string): Json[] {
  const names = new Map<string, string>()
  const turns: { role: string; parts: Json[] }[] = []
  for (const message of messages) {
    for (const { id, name } of message.toolCalls) names.set(id, name)
    if (message.role === 'system') continue
    const role = message.role === 'assistant' ? 'model' : 'user'
    const ofUser = message.role === 'tool' ? toolParts(message, names) : partsOf(message.parts)
    const parts = role === 'model' ? modelParts(message, model) : ofUser
    if (parts.length === 0) continue
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else turns.push({ role, parts })
  }
  return turns
}

function toolsOf({ tools }: ChatRequest): Json[] | undefined {
  if (tools.length === 0) return undefined
  const functionDeclarations = tools.map(({ name, description, parameters }) =>
    present({ name, description, parametersJsonSchema: parameters }),
  )
  return [{ functionDeclarations }]
}

function toolConfigOf({ tools, toolChoice }: ChatRequest): Json | undefined {
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

function thinkingOf(reasoning: Reasoning, model: string): Json {
  const { effort, tokens, isHidden } = reasoning
  const includeThoughts = effort !== 'none' && !isHidden
  if (tokens !== null) return { thinkingBudget: tokens, includeThoughts }
  const word = effort ?? 'medium'
  return thinksInLevels(model)
    ? { thinkingLevel: entryOf(levels, word) ?? word, includeThoughts }
    : { thinkingBudget: entryOf(budgets, word) ?? budgets['medium'], includeThoughts }
}

function generationOf(request: ChatRequest, model: string): Json {
  const { json, format, reasoning } = request
  return present({
    maxOutputTokens: request.maximumTokens ?? undefined,
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    candidateCount: request.results > 1 ? request.results : undefined,
    stopSequences: request.stop,
    seed: numberIn(json, 'seed'),
    presencePenalty: numberIn(json, 'presence_penalty'),
    frequencyPenalty: numberIn(json, 'frequency_penalty'),
    responseMimeType: format.kind === 'text' ? undefined : 'application/json',
    responseJsonSchema: format.kind === 'schema' ? format.schema : undefined,
    thinkingConfig: reasoning === null ? undefined : thinkingOf(reasoning, model),
  })
}

/** The request's body; the model's name is in the address. */
export function geminiBody(request: ChatRequest, model: string): Json {
  const system = request.messages.filter(({ role }) => role === 'system')
  const parts = system.flatMap((message) => partsOf(message.parts))
  return present({
    systemInstruction: parts.length > 0 ? { parts } : undefined,
    contents: contentsOf(request.messages, model),
    tools: toolsOf(request),
    toolConfig: toolConfigOf(request),
    generationConfig: generationOf(request, model),
  })
}
