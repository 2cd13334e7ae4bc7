/** Translates Gemini's responses and streams (generateContent) into the OpenAI format. */
import { parseBoundedJson } from '../../lib/json/bounded-json.ts'
import {
  ChunkWriter,
  chatCompletion,
  errorChunk,
  encodeToolCall,
  type Finish,
  type FinishReason,
  type ChatResult,
} from '../chat-response.ts'
import {
  getCount,
  hasAnyCount,
  getNumber,
  getObject,
  getObjects,
  getString,
  type Json,
  lookup,
} from '../json-fields.ts'
import type { UpstreamCall, Chunk, StreamEvent, StreamTranslation } from '../provider.ts'
import { geminiFormat, encryptedDetail } from '../reasoning-details.ts'
import { isObject, type TokenUsage } from '../usage.ts'
import { FunctionCallReader, type FunctionCall } from './function-calls.ts'

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

function mapFinish(native: string, hasCalls: boolean): Finish {
  const reason = lookup(reasons, native) ?? (hasCalls && native === 'STOP' ? 'tool_calls' : 'stop')
  return { reason, native }
}

/** The `usageMetadata`, if it has counts. */
function usageCounts(body: Json): Json | undefined {
  const metadata = getObject(body, 'usageMetadata')
  return metadata && hasAnyCount(metadata, 'promptTokenCount', 'candidatesTokenCount', 'totalTokenCount')
    ? metadata
    : undefined
}

/** Gemini counts thoughts separately from the response, unless the total shows that they are included. */
function parseGeminiUsage(metadata: Json | undefined): TokenUsage | null {
  if (!metadata) return null
  const input = getCount(metadata, 'promptTokenCount') + getCount(metadata, 'toolUsePromptTokenCount')
  const written = getCount(metadata, 'candidatesTokenCount')
  const reasoning = getCount(metadata, 'thoughtsTokenCount')
  const areInside = reasoning <= written && getCount(metadata, 'totalTokenCount') === input + written
  return {
    input,
    cachedInput: Math.min(getCount(metadata, 'cachedContentTokenCount'), input),
    cacheWrite: 0,
    output: areInside ? written : written + reasoning,
    reasoning,
  }
}

/** The reason why a prompt was blocked. Its response has no candidates. */
function blockReason(body: Json): string | undefined {
  const feedback = getObject(body, 'promptFeedback')
  return feedback && getString(feedback, 'blockReason')
}

function blockedFinish(native: string): Finish {
  return { reason: 'content_filter', native }
}

function candidateParts(candidate: Json): readonly Json[] {
  return getObjects(getObject(candidate, 'content') ?? {}, 'parts')
}

function signatureDetails(part: Json, about: { id?: string | undefined; index: number }): Json[] {
  const signature = getString(part, 'thoughtSignature')
  return signature === undefined ? [] : [encryptedDetail(signature, { ...about, format: geminiFormat })]
}

function translateCandidate(candidate: Json): ChatResult {
  let text = ''
  let reasoning = ''
  const reasoningDetails: Json[] = []
  const calls: FunctionCall[] = []
  const reader = new FunctionCallReader()
  for (const part of candidateParts(candidate)) {
    calls.push(...reader.read(part))
    if (part['thought'] === true) reasoning += getString(part, 'text') ?? ''
    else text += getString(part, 'text') ?? ''
    const id = 'functionCall' in part ? reader.latestId : undefined
    reasoningDetails.push(...signatureDetails(part, { id, index: reasoningDetails.length }))
  }
  calls.push(...reader.end())
  const toolCalls = calls.map(({ id, name, input }) => encodeToolCall(id, name, input))
  const finish = mapFinish(getString(candidate, 'finishReason') ?? 'STOP', toolCalls.length > 0)
  return { text, reasoning, reasoningDetails, toolCalls, finish }
}

/** Translates a non-streaming response. Throws for an invalid body. */
export function translateGeminiResponse(body: unknown, call: UpstreamCall): Json {
  if (!isObject(body)) throw new Error('Not a Gemini response.')
  const block = blockReason(body)
  const results = getObjects(body, 'candidates').map(translateCandidate)
  if (results.length === 0) {
    if (block === undefined) throw new Error('Not a Gemini response.')
    results.push({
      text: '',
      reasoning: '',
      reasoningDetails: [],
      toolCalls: [],
      finish: blockedFinish(block),
    })
  }
  const identity = { id: getString(body, 'responseId'), model: getString(body, 'modelVersion') }
  return chatCompletion(identity, results, parseGeminiUsage(usageCounts(body)), call)
}

/** The state of a candidate in a stream. */
interface CandidateProgress {
  readonly reader: FunctionCallReader
  signatures: number
  calls: number
  isFinished: boolean
}

function startCandidate(isFinished = false): CandidateProgress {
  return { reader: new FunctionCallReader(), signatures: 0, calls: 0, isFinished }
}

/** A candidate, and the chunks that an event of it becomes. */
interface CandidateOutput {
  readonly progress: CandidateProgress
  readonly index: number
  readonly chunks: Chunk[]
}

export class GeminiStreamTranslation implements StreamTranslation {
  readonly #writer: ChunkWriter
  readonly #candidates = new Map<number, CandidateProgress>()
  #counts: Json | undefined
  /** Gemini has no end marker: its stream just ends. */
  readonly isComplete = false

  constructor(call: UpstreamCall) {
    this.#writer = new ChunkWriter(call)
  }

  translate({ text }: StreamEvent): readonly Chunk[] {
    const body = parseBoundedJson(text)
    if (!isObject(body)) throw new Error('Not a Gemini event.')
    const error = getObject(body, 'error')
    if (error) {
      const status = getNumber(error, 'code') ?? 500
      const type = getString(error, 'status') ?? 'INTERNAL'
      return [errorChunk(getString(error, 'message') ?? type, type, status)]
    }
    this.#writer.setIdentity(getString(body, 'responseId'), getString(body, 'modelVersion'))
    this.#counts = usageCounts(body) ?? this.#counts
    const block = blockReason(body)
    const chunks = getObjects(body, 'candidates').flatMap((candidate) => this.#onCandidate(candidate))
    if (block !== undefined && this.#candidates.size === 0) {
      this.#candidates.set(0, startCandidate(true))
      return this.#writer.finish(blockedFinish(block))
    }
    return chunks
  }

  end(): readonly Chunk[] {
    const candidates = [...this.#candidates.values()]
    const isComplete = candidates.length > 0 && candidates.every(({ isFinished }) => isFinished)
    const usage = parseGeminiUsage(this.#counts)
    this.#counts = undefined
    return isComplete && usage ? this.#writer.usage(usage) : []
  }

  #onCandidate(candidate: Json): Chunk[] {
    const index = getNumber(candidate, 'index') ?? 0
    const progress = this.#candidates.get(index) ?? startCandidate()
    this.#candidates.set(index, progress)
    const chunks = this.#writer.start(index)
    for (const part of candidateParts(candidate)) this.#onPart(part, { progress, index, chunks })
    const native = getString(candidate, 'finishReason')
    if (native === undefined || progress.isFinished) return chunks
    progress.isFinished = true
    this.#onCalls(progress.reader.end(), { progress, index, chunks })
    chunks.push(...this.#writer.finish(mapFinish(native, progress.calls > 0), index))
    return chunks
  }

  #onPart(part: Json, to: CandidateOutput): void {
    const { progress, index, chunks } = to
    const text = getString(part, 'text') ?? ''
    this.#onCalls(progress.reader.read(part), to)
    const isCall = 'functionCall' in part
    if (!isCall)
      chunks.push(
        ...(part['thought'] === true ? this.#writer.reasoning(text, index) : this.#writer.text(text, index)),
      )
    const id = isCall ? progress.reader.latestId : undefined
    const details = signatureDetails(part, { id, index: progress.signatures })
    if (details.length === 0) return
    progress.signatures += details.length
    chunks.push(...this.#writer.delta({ reasoning_details: details }, index))
  }

  #onCalls(calls: readonly FunctionCall[], { progress, index, chunks }: CandidateOutput): void {
    for (const { id, name, input } of calls) {
      const started = { index: progress.calls++, ...encodeToolCall(id, name, input) }
      chunks.push(...this.#writer.delta({ tool_calls: [started] }, index))
    }
  }
}
