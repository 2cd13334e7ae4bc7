/**
 * Orders the content blocks of a stream one after another. In the OpenAI format the pieces of several tool calls may be
 * interleaved; in Anthropic's a block starts when the previous one has ended. The open block is sent as it arrives, the
 * others are queued until it is complete.
 */
import { newId } from '../lib/ids.ts'
import type { Json } from '../providers/json-fields.ts'
import { encodeCallId } from '../providers/tool-call-ids.ts'
import { JsonEndDetector } from './json-end-detector.ts'
import { wrapSignature, withoutText } from './thinking-signature.ts'
import { contentBlockStop, encodeMessagesEvent, type BlockLog } from './messages-events.ts'

type BlockKind = 'text' | 'thinking' | 'redacted' | 'tool'

interface ContentBlock {
  readonly kind: BlockKind
  /** The `content_block` that starts the block. */
  readonly content: Json
  /** Of a tool call: its number. */
  readonly callIndex: number
  readonly input: JsonEndDetector
  /** Text that has not been sent. */
  pendingText: string
  /** Of thinking: the detail that its provider needs back. */
  detail: Json | undefined
}

export class BlockQueue {
  readonly #provider: string
  readonly #log: BlockLog
  readonly #events: Buffer[]
  #open: ContentBlock | null = null
  #index = -1
  #pending: ContentBlock[] = []
  readonly #calls = new Map<number, ContentBlock>()
  /** True if there is a tool call. */
  hasCalls = false
  /** Output tokens so far. */
  tokens = 0

  /** `events`: receives the encoded events. */
  constructor(provider: string, log: BlockLog, events: Buffer[]) {
    this.#provider = provider
    this.#log = log
    this.#events = events
  }

  /** Adds text of the response, or of its thinking. */
  addText(kind: 'text' | 'thinking', text: string): void {
    const last = this.#last
    const content =
      kind === 'text' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', signature: '' }
    this.#append(last?.kind === kind ? last : this.#enqueue(kind, content), text)
  }

  /** Adds the signature of the current thinking; it may arrive in pieces. */
  addSignature(detail: Json): void {
    if (this.#last?.kind !== 'thinking') this.addText('thinking', '')
    const last = this.#last
    if (last) last.detail = { ...last.detail, ...withoutText(detail) }
  }

  addRedacted(data: string): void {
    this.#enqueue('redacted', { type: 'redacted_thinking', data })
    this.#advance()
  }

  /** Adds a piece of a tool call; the first one names the tool. `number`: of the call. */
  addToolCall(
    number: number,
    about: { readonly id: string | undefined; readonly name: string; readonly input: string },
  ): void {
    let block = this.#calls.get(number)
    if (!block) {
      const use = {
        type: 'tool_use',
        id: encodeCallId(about.id || newId('toolu')),
        name: about.name,
        input: {},
      }
      block = this.#enqueue('tool', use, number)
      this.#calls.set(number, block)
      this.hasCalls = true
    }
    block.input.push(about.input)
    this.#append(block, about.input)
  }

  /** Sends everything that is queued and ends the last block. */
  finish(): void {
    while (this.#open || this.#pending.length > 0) this.#openNext()
  }

  get #last(): ContentBlock | null {
    return this.#pending.at(-1) ?? this.#open
  }

  #enqueue(kind: BlockKind, content: Json, addToolCall = -1): ContentBlock {
    const block: ContentBlock = {
      kind,
      content,
      callIndex: addToolCall,
      input: new JsonEndDetector(),
      pendingText: '',
      detail: undefined,
    }
    this.#pending.push(block)
    return block
  }

  #append(block: ContentBlock, text: string): void {
    block.pendingText += text
    this.#advance()
  }

  #advance(): void {
    while (this.#pending.length > 0 && (!this.#open || isFinished(this.#open))) this.#openNext()
    this.#flush()
  }

  /** Ends the open block and starts the next. */
  #openNext(): void {
    if (this.#open) this.#close(this.#open)
    this.#open = this.#pending.shift() ?? null
    if (!this.#open) return
    this.#index += 1
    this.#log.start(this.#index, this.tokens)
    this.#events.push(
      encodeMessagesEvent('content_block_start', { index: this.#index, content_block: this.#open.content }),
    )
    this.#flush()
  }

  #flush(): void {
    const block = this.#open
    if (!block || block.pendingText === '') return
    this.#pushDelta(deltaOf(block))
    block.pendingText = ''
  }

  #close({ kind, detail }: ContentBlock): void {
    this.#flush()
    if (kind === 'thinking') {
      this.#pushDelta({ type: 'signature_delta', signature: wrapSignature(this.#provider, detail) })
    }
    this.#log.stop(this.#index, this.tokens)
    this.#events.push(contentBlockStop(this.#index))
  }

  #pushDelta(delta: Json): void {
    this.#events.push(encodeMessagesEvent('content_block_delta', { index: this.#index, delta }))
  }
}

/** Text ends when another block starts; a tool's input ends with its JSON. */
function isFinished({ kind, input }: ContentBlock): boolean {
  return kind !== 'tool' || input.isComplete
}

function deltaOf({ kind, pendingText }: ContentBlock): Json {
  switch (kind) {
    case 'text':
      return { type: 'text_delta', text: pendingText }
    case 'thinking':
      return { type: 'thinking_delta', thinking: pendingText }
    case 'tool':
    case 'redacted':
      return { type: 'input_json_delta', partial_json: pendingText }
  }
}
