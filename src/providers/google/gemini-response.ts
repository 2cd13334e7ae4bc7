/** Translates Gemini's responses and streams (generateContent) into the OpenAI format. */
import { encodeInput } from '../chat-response.ts'
import {
  getCount,
  hasAnyCount,
  getNumber,
  getObject,
  getObjects,
  getString,
  type Json,
} from '../json-fields.ts'
import { geminiReasons } from '../finish-reasons.ts'
import { geminiNames } from '../provider-names.ts'
import { geminiFormat } from '../reasoning-details.ts'
import { createTranslation, ResponseReader } from '../response-translation.ts'
import { createUsage, type Modality, type TokenUsage } from '../usage.ts'
import { mergeUsage } from '../usage-counts.ts'
import { FunctionCallReader, type FunctionCall } from './function-calls.ts'

/** The `usageMetadata`, if it has counts. */
function usageCounts(body: Json): Json | undefined {
  const metadata = getObject(body, 'usageMetadata')
  return metadata && hasAnyCount(metadata, 'promptTokenCount', 'candidatesTokenCount', 'totalTokenCount')
    ? metadata
    : undefined
}

/** The tokens of these modalities in a list; of all, if none is named. */
function countIn(metadata: Json, list: string, kinds: readonly string[] = []): number {
  return getObjects(metadata, list)
    .filter(({ modality }) => kinds.length === 0 || kinds.includes(String(modality)))
    .reduce((sum, each) => sum + getCount(each, 'tokenCount'), 0)
}

/** Tokens of images and audio; video is counted as images. */
function parseModality(metadata: Json): { readonly [Name in Modality]?: number } {
  const count = (list: string, ...kinds: string[]): number => countIn(metadata, list, kinds)
  return {
    inputImage: count('promptTokensDetails', 'IMAGE', 'VIDEO'),
    inputAudio: count('promptTokensDetails', 'AUDIO'),
    cachedInputImage: count('cacheTokensDetails', 'IMAGE', 'VIDEO'),
    cachedInputAudio: count('cacheTokensDetails', 'AUDIO'),
    outputImage: count('candidatesTokensDetails', 'IMAGE', 'VIDEO'),
    outputAudio: count('candidatesTokensDetails', 'AUDIO'),
  }
}

/** Gemini counts thoughts separately from the response, unless the total shows that they are included. */
function parseGeminiUsage(metadata: Json | undefined): TokenUsage | null {
  if (!metadata) return null
  const input = getCount(metadata, 'promptTokenCount') + getCount(metadata, 'toolUsePromptTokenCount')
  const written = getCount(metadata, 'candidatesTokenCount')
  const reasoning = getCount(metadata, 'thoughtsTokenCount')
  const areInside = reasoning <= written && getCount(metadata, 'totalTokenCount') === input + written
  const output = areInside ? written : written + reasoning
  return createUsage({
    input,
    cachedInput: Math.max(
      getCount(metadata, 'cachedContentTokenCount'),
      countIn(metadata, 'cacheTokensDetails'),
    ),
    output,
    reasoning,
    modality: parseModality(metadata),
  })
}

/** The reason why a prompt was blocked. Its response has no candidates. */
function blockReason(body: Json): string | undefined {
  const feedback = getObject(body, 'promptFeedback')
  return feedback && getString(feedback, 'blockReason')
}

/** A candidate, as far as it has been read. */
interface CandidateProgress {
  readonly index: number
  readonly reader: FunctionCallReader
  signatures: number
  calls: number
  isFinished: boolean
}

class GeminiReader extends ResponseReader {
  readonly #candidates = new Map<number, CandidateProgress>()
  #counts: Json | undefined

  readResponse(body: Json): void {
    const candidates = getObjects(body, 'candidates').map((candidate, index) => {
      return { ...candidate, index, finishReason: getString(candidate, 'finishReason') ?? 'STOP' }
    })
    this.#onBody(body, candidates)
    if (this.#candidates.size === 0) throw new Error('Not a Gemini response.')
    this.end()
  }

  readEvent(event: Json): void {
    const error = getObject(event, 'error')
    if (!error) return this.#onBody(event, getObjects(event, 'candidates'))
    const type = getString(error, 'status') ?? 'INTERNAL'
    this.writer.error(getString(error, 'message') ?? type, type, getNumber(error, 'code') ?? 500)
  }

  override end(): void {
    const candidates = [...this.#candidates.values()]
    const isComplete = candidates.length > 0 && candidates.every(({ isFinished }) => isFinished)
    if (isComplete) this.writer.usage(parseGeminiUsage(this.#counts))
  }

  #onBody(body: Json, candidates: readonly Json[]): void {
    this.writer.setIdentity(getString(body, 'responseId'), getString(body, 'modelVersion'))
    this.#counts = mergeUsage(this.#counts, usageCounts(body))
    for (const candidate of candidates) this.#onCandidate(candidate)
    const block = blockReason(body)
    if (block === undefined || this.#candidates.size > 0) return
    this.#progressAt(0).isFinished = true
    this.writer.finish(block, 'content_filter')
  }

  #progressAt(index: number): CandidateProgress {
    let progress = this.#candidates.get(index)
    if (!progress) {
      progress = { index, reader: new FunctionCallReader(), signatures: 0, calls: 0, isFinished: false }
      this.#candidates.set(index, progress)
    }
    return progress
  }

  #onCandidate(candidate: Json): void {
    const index = getNumber(candidate, 'index') ?? 0
    const progress = this.#progressAt(index)
    this.writer.start(index)
    for (const part of getObjects(getObject(candidate, 'content') ?? {}, 'parts'))
      this.#onPart(part, progress)
    const native = getString(candidate, 'finishReason')
    if (native === undefined || progress.isFinished) return
    progress.isFinished = true
    this.#onCalls(progress.reader.end(), progress)
    const hasCalled = native === 'STOP' && progress.calls > 0
    this.writer.finish(native, hasCalled ? 'tool_calls' : undefined, index)
  }

  #onPart(part: Json, progress: CandidateProgress): void {
    const { index, reader } = progress
    this.#onCalls(reader.read(part), progress)
    const isCall = 'functionCall' in part
    const text = isCall ? '' : getString(part, 'text')
    if (part['thought'] === true) this.writer.reasoning(text, index)
    else this.writer.text(text, index)
    const signature = getString(part, 'thoughtSignature')
    if (signature === undefined) return
    const about = { id: isCall ? reader.latestId : undefined, index: progress.signatures++ }
    this.writer.hiddenReasoning(signature, about, index)
  }

  #onCalls(calls: readonly FunctionCall[], progress: CandidateProgress): void {
    for (const { id, name, input } of calls) {
      const called = { name: this.writer.toolName(name), arguments: encodeInput(input) }
      const call = { index: progress.calls++, id, type: 'function', function: called } as const
      this.writer.delta({ tool_calls: [call] }, progress.index)
    }
  }
}

export const geminiTranslation = createTranslation(GeminiReader, {
  reasons: geminiReasons,
  signedFormat: geminiFormat,
  names: geminiNames,
})
