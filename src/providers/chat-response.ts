/**
 * Encodes responses in the OpenAI format for providers with their own API format: a non-streaming response, or the
 * chunks of a stream. Both are written piece by piece, so that a provider translates each piece in one place. Next to
 * the OpenAI finish reason they have the provider's own (`native_finish_reason`).
 */
import { newId } from '../lib/ids.ts'
import { ChunkCollector } from './chunk-collector.ts'
import { classOf, type FinishClass, type FinishReasons } from './finish-reasons.ts'
import { getObject, type Json } from './json-fields.ts'
import { JsonKeyRenamer } from './json-key-renamer.ts'
import { usesFunctions } from './legacy-functions.ts'
import type { UpstreamCall, Chunk } from './provider.ts'
import { originalNames, type NameRules, type OriginalNames } from './provider-names.ts'
import { encryptedDetail, textDetail } from './reasoning-details.ts'
import { serializeUsage, type TokenUsage } from './usage.ts'

/** The finish reasons that OpenAI's clients know. */
type FinishReason = 'stop' | 'length' | 'tool_calls' | 'function_call' | 'content_filter'

/** The reason of a class in the OpenAI format. */
const finishReasons: Readonly<Record<Exclude<FinishClass, 'failed'>, FinishReason>> = {
  finished: 'stop',
  length: 'length',
  filtered: 'content_filter',
}
/** The providers' reasons for a response that ends with calls, in lower case. */
const callReasons = new Set(['tool_use', 'tool_call'])

/** The provider has marked its response as failed. `body`: as of an error response. */
export class FailedResponseError extends Error {
  readonly body: Json

  constructor(error: NonNullable<ChatChunk['error']>) {
    super(error.message)
    this.name = 'FailedResponseError'
    this.body = { error }
  }
}

const none: readonly Chunk[] = []

/** A piece of a tool call: the first one has its id and name. */
interface CallPiece {
  readonly index: number
  readonly id?: string
  readonly type?: 'function'
  readonly function: { readonly name?: string; readonly arguments: string }
}

/** What a chunk adds to a result. */
interface Delta {
  readonly role?: 'assistant'
  readonly content?: string
  /** The provider's refusal message. */
  readonly refusal?: string
  readonly reasoning_content?: string
  readonly reasoning_details?: readonly Json[]
  /** Citations of web pages. */
  readonly annotations?: readonly Json[]
  readonly tool_calls?: readonly CallPiece[]
  readonly function_call?: CallPiece['function']
  /** Calls of tools that the provider runs itself: only streams have them, to be metered. */
  readonly server_tool_calls?: readonly Json[]
}

interface ChunkChoice {
  readonly index: number
  readonly delta: Delta
  readonly logprobs: { readonly content: readonly Json[] } | null
  /** One of OpenAI's; or the provider's own, if it is unknown. */
  readonly finish_reason: string | null
  readonly native_finish_reason?: string
}

interface ChatChunk extends Chunk {
  readonly choices?: readonly ChunkChoice[]
  readonly error?: {
    readonly message: string
    readonly type: string
    readonly code: string
    readonly status_code: number
  }
  readonly usage?: Json | null
}

/** What differs between the responses of providers. */
export interface ResponseWords {
  /** What their finish reasons mean. */
  readonly reasons: FinishReasons
  /** The `format` of reasoning that they sign or hide. */
  readonly signedFormat?: string
  /** The names that they accept. */
  readonly names?: NameRules
}

/** A block that has started and not ended. */
interface OpenBlock {
  /** The index of a tool call; `null`: thinking. */
  readonly call: number | null
  text: string
  signature: string | undefined
  /** Restores the names of properties in the arguments; `null`: all are the caller's. */
  readonly renamer: JsonKeyRenamer | null
}

/** The arguments of a tool call as text; empty if there are none. */
export function encodeInput(input: unknown): string {
  const text = typeof input === 'string' ? input : JSON.stringify(input ?? {})
  return text === 'null' ? '' : text
}

/** Creates the chunks of a response, each result's role first. Results have an index; blocks belong to the first one. */
export class ChatWriter {
  readonly #created: number
  /** A caller who asked for the usage finds `usage` in every chunk (OpenAI, "stream_options"). */
  readonly #noUsage: { readonly usage?: null }
  /** The caller gets `function_call` instead of `tool_calls`. */
  readonly #asFunction: boolean
  readonly #signedFormat: string
  readonly #reasons: FinishReasons
  readonly #started = new Set<number>()
  readonly #blocks = new Map<number, OpenBlock>()
  #calls = 0
  #id: string | undefined
  #model: string
  #chunks: ChatChunk[] = []
  readonly #names: OriginalNames | null
  readonly #textRenamer: JsonKeyRenamer | null
  /** As the provider says. */
  readonly identity: { id?: string | undefined; model?: string } = {}

  constructor(call: UpstreamCall, { reasons, signedFormat = '', names }: ResponseWords) {
    this.#created = Math.floor(call.nowMs / 1000)
    this.#model = call.model
    this.#signedFormat = signedFormat
    this.#reasons = reasons
    const request = call.body.parsed()
    this.#names = names ? originalNames(request, names) : null
    this.#textRenamer = this.#renamerFor(null)
    this.#asFunction = usesFunctions(request)
    const options = getObject(request, 'stream_options')
    this.#noUsage = options?.['include_usage'] === true ? { usage: null } : {}
  }

  /** Returns the chunks since the last call. */
  take(): readonly Chunk[] {
    if (this.#chunks.length === 0) return none
    const chunks = this.#chunks
    this.#chunks = []
    return chunks
  }

  /** Sets the provider's id and model of the response, as soon as they are known. */
  setIdentity(id: string | undefined, model: string | undefined): void {
    this.#id ??= id
    this.identity.id ??= id
    if (model !== undefined) this.#model = this.identity.model = model
  }

  /** Starts a result with its role, once. */
  start(index = 0): void {
    if (this.#started.has(index)) return
    this.#started.add(index)
    this.#addDelta({ role: 'assistant', content: '' }, index)
  }

  delta(delta: Delta, index = 0): void {
    this.start(index)
    const calls = this.#asFunction ? (delta.tool_calls ?? []) : []
    // `function_call` has no index: pieces of a second call would be appended to the first one's arguments.
    const first = calls.find((each) => each.index === 0)
    if (first) this.#addDelta({ function_call: first.function }, index)
    else if (calls.length === 0) this.#addDelta(delta, index)
  }

  /** `logprobs`: of its tokens, as in the OpenAI format. */
  text(written = '', index = 0, logprobs: readonly Json[] = []): void {
    const text = this.#textRenamer?.push(written) ?? written
    if (text === '') return
    if (logprobs.length === 0) return this.delta({ content: text }, index)
    this.start(index)
    this.#addDelta({ content: text }, index, { content: logprobs })
  }

  reasoning(text = '', index = 0): void {
    if (text !== '') this.delta({ reasoning_content: text }, index)
  }

  /** Reasoning that only its provider can read. `id`: the tool call that it belongs to, if any. */
  hiddenReasoning(
    data: string,
    about: { readonly id?: string | undefined; readonly index: number },
    index = 0,
  ): void {
    const detail = encryptedDetail(data, { ...about, format: this.#signedFormat })
    this.delta({ reasoning_details: [detail] }, index)
  }

  /** Adds to a block of thinking. Its signature may arrive in pieces. */
  thinking(index: number, text = '', signature?: string): void {
    let block = this.#blocks.get(index)
    if (!block)
      this.#blocks.set(index, (block = { call: null, text: '', signature: undefined, renamer: null }))
    block.text += text
    if (signature !== undefined) block.signature = (block.signature ?? '') + signature
    this.reasoning(text)
  }

  /** Starts the block of a tool call. */
  startCall(index: number, id = '', sentName = '', written = ''): void {
    const call = this.#calls++
    const name = this.toolName(sentName)
    const renamer = this.#renamerFor(name)
    const input = renamer?.push(written) ?? written
    this.#blocks.set(index, { call, text: input, signature: undefined, renamer })
    this.delta({ tool_calls: [{ index: call, id, type: 'function', function: { name, arguments: input } }] })
  }

  /** The caller's name of a tool. */
  toolName(sentName: string): string {
    return this.#names?.tool(sentName) ?? sentName
  }

  /** `tool` null: for the text of the response. */
  #renamerFor(tool: string | null): JsonKeyRenamer | null {
    const names = this.#names?.properties(tool)
    return names && names.size > 0 ? new JsonKeyRenamer(names) : null
  }

  addInput(index: number, written = ''): void {
    const block = this.#blocks.get(index)
    if (!block || block.call === null) return
    const text = block.renamer?.push(written) ?? written
    if (text === '') return
    block.text += text
    this.delta({ tool_calls: [{ index: block.call, function: { arguments: text } }] })
  }

  endBlock(index: number): void {
    const block = this.#blocks.get(index)
    if (!block) return
    const { call, text, signature } = block
    if (call === null) {
      const detail = textDetail(text, { signature, format: this.#signedFormat, index })
      this.delta({ reasoning_details: [detail] })
    }
    // Arguments must be JSON, even if there are none.
    else if (text === '') this.addInput(index, '{}')
    this.#blocks.delete(index)
  }

  /** Ends a result, for the provider's own reason. `reason`: what it stands for, if not what the reason itself says. */
  finish(native: string, reason = this.#reasonFor(native), index = 0): void {
    if (reason === 'failed')
      return this.error(`The provider ended its response with "${native}".`, native, 502)
    this.start(index)
    const finish = this.#asFunction && reason === 'tool_calls' ? 'function_call' : reason
    const choice = { index, delta: {}, logprobs: null, finish_reason: finish, native_finish_reason: native }
    this.#chunks.push(this.#chunk([choice]))
  }

  /** An unknown reason stays as it is. */
  #reasonFor(native: string): string {
    const known = classOf(this.#reasons, native)
    if (known === null || known === 'failed') return known ?? native
    return callReasons.has(native.toLowerCase()) ? 'tool_calls' : finishReasons[known]
  }

  usage(usage: TokenUsage | null): void {
    if (usage) this.#chunks.push({ ...this.#chunk([]), usage: serializeUsage(usage) })
  }

  /**
   * An error of the provider inside a response, with the HTTP status that it corresponds to. `usage`: what the provider bills
   * all the same.
   */
  error(message: string, type: string, status: number, usage: TokenUsage | null = null): void {
    const error = { message, type, code: type, status_code: status }
    this.#chunks.push({ error, ...(usage ? { usage: serializeUsage(usage) } : {}) })
  }

  /** The non-streaming response to which the chunks add up. Throws `FailedResponseError` if they contain an error. */
  completion(): Json {
    const error = this.#chunks.find((chunk) => chunk.error)?.error
    if (error) throw new FailedResponseError(error)
    const collector = new ChunkCollector()
    for (const chunk of [this.#chunk([]), ...this.#chunks]) collector.add(chunk)
    return collector.completion()
  }

  #addDelta(delta: Delta, index: number, logprobs: ChunkChoice['logprobs'] = null): void {
    this.#chunks.push(this.#chunk([{ index, delta, logprobs, finish_reason: null }]))
  }

  #chunk(choices: readonly ChunkChoice[]): ChatChunk {
    this.#id ??= newId('chatcmpl')
    return {
      id: this.#id,
      object: 'chat.completion.chunk',
      created: this.#created,
      model: this.#model,
      choices,
      ...this.#noUsage,
    }
  }
}
