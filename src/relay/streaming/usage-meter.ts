/**
 * Meters the chunks of a response: content, finish reason, the provider's usage, and the output tokens by the estimate
 * rule. It does not change the chunks.
 */
import { finishClassOf } from '../../providers/finish-reasons.ts'
import { getObjects, isObject, type Json } from '../../providers/json-fields.ts'
import { responsesFormat } from '../../providers/reasoning-details.ts'
import { findFailure } from '../../providers/response-failure.ts'
import { parseServiceTier, parseUsage, type TokenUsage } from '../../providers/usage.ts'
import { findUsage, mergeUsage } from '../../providers/usage-counts.ts'
import { toBoundedText } from '../../lib/valid-text.ts'
import { TokenCounter } from '../request/token-estimate.ts'

/** What a chunk contains. */
export interface ChunkFacts {
  /** Text, reasoning or a tool call: commits the response to its upstream. */
  readonly hasContent: boolean
  /** A choice has finished. */
  readonly hasFinish: boolean
  readonly hasUsage: boolean
  /** `choices` is empty: the chunk has only the usage, or fields of the provider's own. */
  readonly isBare: boolean
  /** The body of the error that it reports; `null`: none. */
  readonly error: Json | null
}

export const emptyFacts: ChunkFacts = {
  hasContent: false,
  hasFinish: false,
  hasUsage: false,
  isBare: false,
  error: null,
}

export const textFacts: ChunkFacts = { ...emptyFacts, hasContent: true }

/** Characters of `encrypted_content` for a token, as OpenAI's responses have them. */
const encryptedPerToken = 12

/** Finish reasons are words; a longer text would fill the database and the log. */
const maxFinishReasonLength = 64

const structuralFields = new Set(['role', 'id', 'type', 'object', 'format', 'index', 'signature', 'tool'])

/** They repeat the reasoning in the shape in which it can be sent back, and name pages that the text cites. */
const uncountedFields = new Set(['reasoning_details', 'annotations'])

const reasoningFields = new Set(['reasoning_content', 'reasoning'])

interface OutputCounts {
  readonly all: TokenCounter
  readonly reasoning: TokenCounter
}

/** Counts every text that the model wrote in a delta; true if there was any, or a tool call started. */
function countOutput(counts: OutputCounts, value: unknown, key: string): boolean {
  if (typeof value === 'string') {
    if (value === '' || structuralFields.has(key)) return false
    counts.all.add(value)
    if (reasoningFields.has(key)) counts.reasoning.add(value)
    return true
  }
  if (Array.isArray(value)) {
    let found = false
    for (const each of value) if (countOutput(counts, each, key)) found = true
    return found
  }
  if (!isObject(value)) return false
  let found = false
  for (const name in value) {
    if (!uncountedFields.has(name) && countOutput(counts, value[name], name)) found = true
  }
  return found
}

/** The calls of the provider's own search in a message or delta (Anthropic, "Web search tool"). */
function searchCalls(calls: readonly unknown[]): number {
  return calls.filter((call) => isObject(call) && call['name'] === 'web_search').length
}

/** A call of the provider's tool, by the index of its item. */
interface ToolCall {
  readonly index: unknown
  readonly tool: string
}

/**
 * The provider's tools that have been called after a delta (Responses API, items of `output`). A later delta with the same
 * index replaces a call, or takes it back.
 */
function withCalls(before: readonly ToolCall[], calls: readonly unknown[]): readonly ToolCall[] {
  return calls.reduce<readonly ToolCall[]>((known, call) => {
    if (!isObject(call) || call['tool'] === undefined) return known
    const { index, tool } = call
    const others = index === undefined ? known : known.filter((each) => each.index !== index)
    return typeof tool === 'string' ? [...others, { index, tool }] : others
  }, before)
}

/** Whether a message or delta cites pages of a web search (OpenAI and OpenRouter, `annotations`). */
function citesPages({ annotations }: Json): boolean {
  if (!Array.isArray(annotations)) return false
  return annotations.some((each) => isObject(each) && each['type'] === 'url_citation')
}

/** Whether a response lists what it has found in the web (Zhipu, `web_search`; Qwen, `search_info`). */
function listsPages({ web_search: pages, search_info: info }: Json): boolean {
  return (Array.isArray(pages) && pages.length > 0) || isObject(info)
}

const noCalls: readonly ToolCall[] = []

export class UsageMeter {
  readonly #counts: OutputCounts = { all: new TokenCounter(), reasoning: new TokenCounter() }
  readonly #provider: string
  /** What the provider has reported of its usage so far. */
  #reported: Json | undefined
  /** The usage by all that the provider has reported of it. */
  usage: TokenUsage | null = null
  /** The provider has reported the usage of a response that it marks as failed: it is complete all the same. */
  hasFailedWithUsage = false
  /** The calls of web searches that are seen; at least 1 if pages are cited, which may be all that shows a search. */
  searches = 0
  #calls = noCalls
  /** The provider's tools that were called; of images with the class, as far as it is stated. */
  toolCalls: readonly string[] = []
  /** The service tier that the response names, `default` if it is the default one. */
  tier: string | null = null
  /** The upstream's finish reason; of several results, one that is unknown. */
  finishReason: string | null = null
  /** The finish reason is none that its provider documents. */
  isFinishUnknown = false
  /** The fields that all chunks of the response share: id, created, model. */
  identity: Readonly<Record<string, unknown>> | null = null

  /** `provider`: its name, by which finish reasons are read. */
  constructor(provider = '') {
    this.#provider = provider
  }

  /** Output tokens so far, by the estimate rule. */
  get tokens(): number {
    return this.#counts.all.tokens
  }

  /** As `tokens`, but 64 characters of a run are one: what says whether a response exceeds a maximum. */
  get tokensWithoutRuns(): number {
    return this.#counts.all.tokensWithoutRuns
  }

  /** The part of `tokensWithoutRuns` that is reasoning. */
  get reasoningWithoutRuns(): number {
    return this.#counts.reasoning.tokensWithoutRuns
  }

  /** Reads a chunk, or a complete response, whose choices have a `message` instead of a `delta`. */
  read(chunk: unknown): ChunkFacts {
    if (!isObject(chunk)) return emptyFacts
    const { choices, service_tier: tier } = chunk
    const hasUsage = this.#readUsage(findUsage(chunk))
    const failure = findFailure(this.#provider, chunk)
    if (failure) {
      this.hasFailedWithUsage = hasUsage
      return { ...emptyFacts, hasUsage, error: failure }
    }
    this.identity ??= { id: chunk['id'], created: chunk['created'], model: chunk['model'] }
    let hasContent = false
    let hasFinish = false
    for (const choice of getObjects(chunk, 'choices')) {
      if (this.#readWritten(choice['delta'] ?? choice['message'] ?? choice['text'])) hasContent = true
      if (this.#readFinish(choice['finish_reason'])) hasFinish = true
    }
    if (typeof tier === 'string') this.tier = parseServiceTier(tier) ?? 'default'
    if (listsPages(chunk)) this.searches ||= 1
    const isBare = Array.isArray(choices) && choices.length === 0
    return { hasContent, hasFinish, hasUsage, isBare, error: null }
  }

  /** A usage that cannot be read replaces nothing. */
  #readUsage(reported: Json | undefined): boolean {
    if (!reported || parseUsage(reported) === null) return false
    this.#reported = mergeUsage(this.#reported, reported)
    this.usage = parseUsage(this.#reported)
    return true
  }

  #readWritten(written: unknown): boolean {
    if (written === undefined) return false
    const hasText = countOutput(this.#counts, written, 'text')
    if (!isObject(written)) return hasText
    this.#countSearches(written)
    return this.#countEncrypted(written) || hasText
  }

  #readFinish(reason: unknown): boolean {
    if (typeof reason !== 'string' || reason === '') return false
    const isUnknown = finishClassOf(this.#provider, reason) === null
    if (isUnknown || !this.isFinishUnknown) this.finishReason = toBoundedText(reason, maxFinishReasonLength)
    this.isFinishUnknown ||= isUnknown
    return true
  }

  /** As `read`, for a chunk that differs from an earlier one only in the one text of its delta, in this field. */
  readText(text: string, field: string): ChunkFacts {
    if (text === '') return emptyFacts
    this.#counts.all.add(text)
    if (reasoningFields.has(field)) this.#counts.reasoning.add(text)
    return textFacts
  }

  /** Reasoning that only the provider can read is written and billed all the same. */
  #countEncrypted(written: Json): boolean {
    if (written['reasoning_details'] === undefined) return false
    const encrypted = getObjects(written, 'reasoning_details')
      .filter(({ format }) => format === responsesFormat)
      .map(({ signature }) => (typeof signature === 'string' ? signature.length : 0))
    const length = encrypted.reduce((sum, each) => sum + each, 0)
    this.#counts.all.addTokens(Math.ceil(length / encryptedPerToken))
    return length > 0
  }

  #countSearches(written: Json): void {
    const { server_tool_calls: calls } = written
    if (Array.isArray(calls)) {
      this.searches += searchCalls(calls)
      this.#calls = withCalls(this.#calls, calls)
      this.toolCalls = this.#calls.map(({ tool }) => tool)
    }
    if (citesPages(written)) this.searches ||= 1
  }
}
