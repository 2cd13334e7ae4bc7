/** Gemini's answers (generateContent) in the common format: whole, and event by event. */
import { newId } from '../lib/ids.ts'
import {
  ChunkWriter,
  completion,
  errorChunk,
  toolCall,
  type Finish,
  type FinishReason,
  type Result,
} from './chat-response.ts'
import {
  countIn,
  hasCount,
  numberIn,
  objectIn,
  objectsIn,
  textIn,
  type Json,
  entryOf,
} from './json-fields.ts'
import type { Call, Chunk, StreamEvent, StreamTranslation } from './provider.ts'
import { geminiFormat, encryptedDetail } from './reasoning-details.ts'
import { isObject, type TokenUsage } from './usage.ts'

const reasons: Readonly<Record<string, FinishReason>> = {
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
}

function finishOf(native: string, hasCalls: boolean): Finish {
  const reason = entryOf(reasons, native) ?? (hasCalls && native === 'STOP' ? 'tool_calls' : 'stop')
  return { reason, native }
}

/** Not every `usageMetadata` has counts. */
function countsIn(body: Json): Json | undefined {
  const told = objectIn(body, 'usageMetadata')
  return told && hasCount(told, 'promptTokenCount', 'candidatesTokenCount', 'totalTokenCount')
    ? told
    : undefined
}

/** Gemini counts thoughts beside the answer; where a total shows that they are inside it, they are. */
function usageOf(told: Json | undefined): TokenUsage | null {
  if (!told) return null
  const input = countIn(told, 'promptTokenCount') + countIn(told, 'toolUsePromptTokenCount')
  const written = countIn(told, 'candidatesTokenCount')
  const reasoning = countIn(told, 'thoughtsTokenCount')
  const areInside = reasoning <= written && countIn(told, 'totalTokenCount') === input + written
  return {
    input,
    cachedInput: Math.min(countIn(told, 'cachedContentTokenCount'), input),
    cacheWrite: 0,
    output: areInside ? written : written + reasoning,
    reasoning,
  }
}

/** A prompt that was not taken has no candidates; it is answered with nothing, and why. */
function blockIn(body: Json): string | undefined {
  const feedback = objectIn(body, 'promptFeedback')
  return feedback && textIn(feedback, 'blockReason')
}

function blocked(native: string): Finish {
  return { reason: 'content_filter', native }
}

function partsIn(candidate: Json): readonly Json[] {
  return objectsIn(objectIn(candidate, 'content') ?? {}, 'parts')
}

function callOf(part: Json): { id: string; name: string; input: Json } | undefined {
  const call = objectIn(part, 'functionCall')
  const name = call && textIn(call, 'name')
  if (!call || name === undefined) return undefined
  return { id: textIn(call, 'id') ?? newId('call'), name, input: objectIn(call, 'args') ?? {} }
}

function signatureOf(part: Json, about: { id?: string; index: number }): Json[] {
  const signature = textIn(part, 'thoughtSignature')
  return signature === undefined ? [] : [encryptedDetail(signature, { ...about, format: geminiFormat })]
}

function resultOf(candidate: Json): Result {
  let text = ''
  let reasoning = ''
  const reasoningDetails: Json[] = []
  const toolCalls: Json[] = []
  for (const part of partsIn(candidate)) {
    const call = callOf(part)
    if (call) toolCalls.push(toolCall(call.id, call.name, call.input))
    else if (part['thought'] === true) reasoning += textIn(part, 'text') ?? ''
    else text += textIn(part, 'text') ?? ''
    reasoningDetails.push(...signatureOf(part, { id: call?.id, index: reasoningDetails.length }))
  }
  const finish = finishOf(textIn(candidate, 'finishReason') ?? 'STOP', toolCalls.length > 0)
  return { text, reasoning, reasoningDetails, toolCalls, finish }
}

/** A whole answer. Throws for a body that is none. */
export function geminiWhole(body: unknown, call: Call): Json {
  if (!isObject(body)) throw new Error('This is no answer of Gemini.')
  const block = blockIn(body)
  const results = objectsIn(body, 'candidates').map(resultOf)
  if (results.length === 0) {
    if (block === undefined) throw new Error('This is no answer of Gemini.')
    results.push({ text: '', reasoning: '', reasoningDetails: [], toolCalls: [], finish: blocked(block) })
  }
  const told = { id: textIn(body, 'responseId'), model: textIn(body, 'modelVersion') }
  return completion(told, results, usageOf(countsIn(body)), call)
}

/** What a stream remembers of one candidate. */
interface Progress {
  signatures: number
  calls: number
  isFinished: boolean
}

export class GeminiStream implements StreamTranslation {
  readonly #out: ChunkWriter
  readonly #candidates = new Map<number, Progress>()
  #counts: Json | undefined
  /** Gemini has no last word: its stream ends. */
  readonly isOver = false

  constructor(call: Call) {
    this.#out = new ChunkWriter(call)
  }

  take({ text }: StreamEvent): readonly Chunk[] {
    const body: unknown = JSON.parse(text)
    if (!isObject(body)) throw new Error('This is no event of Gemini.')
    const error = objectIn(body, 'error')
    if (error) {
      const status = numberIn(error, 'code') ?? 500
      const type = textIn(error, 'status') ?? 'INTERNAL'
      return [errorChunk(textIn(error, 'message') ?? type, type, status)]
    }
    this.#out.identify(textIn(body, 'responseId'), textIn(body, 'modelVersion'))
    this.#counts = countsIn(body) ?? this.#counts
    const block = blockIn(body)
    const chunks = objectsIn(body, 'candidates').flatMap((candidate) => this.#onCandidate(candidate))
    if (block !== undefined && this.#candidates.size === 0) {
      this.#candidates.set(0, { signatures: 0, calls: 0, isFinished: true })
      return this.#out.finish(blocked(block))
    }
    return chunks
  }

  end(): readonly Chunk[] {
    const candidates = [...this.#candidates.values()]
    const isComplete = candidates.length > 0 && candidates.every(({ isFinished }) => isFinished)
    const usage = usageOf(this.#counts)
    this.#counts = undefined
    return isComplete && usage ? this.#out.usage(usage) : []
  }

  #onCandidate(candidate: Json): Chunk[] {
    const index = numberIn(candidate, 'index') ?? 0
    const progress = this.#candidates.get(index) ?? { signatures: 0, calls: 0, isFinished: false }
    this.#candidates.set(index, progress)
    const chunks = this.#out.begin(index)
    for (const part of partsIn(candidate)) this.#onPart(part, { progress, index, chunks })
    const native = textIn(candidate, 'finishReason')
    if (native === undefined || progress.isFinished) return chunks
    progress.isFinished = true
    chunks.push(...this.#out.finish(finishOf(native, progress.calls > 0), index))
    return chunks
  }

  #onPart(part: Json, to: { progress: Progress; index: number; chunks: Chunk[] }): void {
    const { progress, index, chunks } = to
    const call = callOf(part)
    const text = textIn(part, 'text') ?? ''
    if (call) {
      const begun = { index: progress.calls++, ...toolCall(call.id, call.name, call.input) }
      chunks.push(...this.#out.delta({ tool_calls: [begun] }, index))
    } else if (part['thought'] === true) chunks.push(...this.#out.reasoning(text, index))
    else chunks.push(...this.#out.text(text, index))
    const details = signatureOf(part, { id: call?.id, index: progress.signatures })
    if (details.length === 0) return
    progress.signatures += details.length
    chunks.push(...this.#out.delta({ reasoning_details: details }, index))
  }
}
