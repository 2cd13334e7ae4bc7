/**
 * The blocks of a streamed answer, one after another. In the common format the pieces of several tool calls may come
 * mixed; Anthropic's begins a block when the one before has ended. The first goes out as it comes, and others wait until
 * it can have no more pieces.
 */
import { newId } from '../lib/ids.ts'
import type { Json } from '../providers/json-fields.ts'
import { callIdOf } from './call-ids.ts'
import { JsonEnd } from './json-end-detector.ts'
import { carried, withoutWords } from './thinking-signature.ts'
import { blockStop, eventOf, type BlockLog } from './messages-events.ts'

type Kind = 'text' | 'thinking' | 'redacted' | 'tool'

interface Block {
  readonly kind: Kind
  /** What the block begins with. */
  readonly content: Json
  /** Of a tool: its place among the calls. */
  readonly call: number
  readonly input: JsonEnd
  /** What waits to be said of it. */
  gathered: string
  /** Of thinking: what its maker wants back. */
  detail: Json | undefined
}

export class BlockQueue {
  readonly #provider: string
  readonly #log: BlockLog
  readonly #out: Buffer[]
  #open: Block | null = null
  #index = -1
  #waiting: Block[] = []
  readonly #calls = new Map<number, Block>()
  /** A tool was called. */
  hasCalls = false
  /** Output tokens so far. */
  tokens = 0

  /** `out`: where events go. */
  constructor(provider: string, log: BlockLog, out: Buffer[]) {
    this.#provider = provider
    this.#log = log
    this.#out = out
  }

  /** Words of the answer, or of its thinking. */
  words(kind: 'text' | 'thinking', text: string): void {
    const last = this.#last
    const content =
      kind === 'text' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', signature: '' }
    this.#add(last?.kind === kind ? last : this.#begin(kind, content), text)
  }

  /** Proof of the thinking that is being said; it may come in pieces. */
  proof(detail: Json): void {
    if (this.#last?.kind !== 'thinking') this.words('thinking', '')
    const last = this.#last
    if (last) last.detail = { ...last.detail, ...withoutWords(detail) }
  }

  redacted(data: string): void {
    this.#begin('redacted', { type: 'redacted_thinking', data })
    this.#goOn()
  }

  /** A piece of a tool's call; the first names the tool. */
  call(
    index: number,
    about: { readonly id: string | undefined; readonly name: string; readonly input: string },
  ): void {
    let block = this.#calls.get(index)
    if (!block) {
      const use = { type: 'tool_use', id: callIdOf(about.id || newId('toolu')), name: about.name, input: {} }
      block = this.#begin('tool', use, index)
      this.#calls.set(index, block)
      this.hasCalls = true
    }
    block.input.take(about.input)
    this.#add(block, about.input)
  }

  /** Nothing more comes: says what waits, and ends the last block. */
  finish(): void {
    while (this.#open || this.#waiting.length > 0) this.#next()
  }

  get #last(): Block | null {
    return this.#waiting.at(-1) ?? this.#open
  }

  #begin(kind: Kind, content: Json, call = -1): Block {
    const block: Block = { kind, content, call, input: new JsonEnd(), gathered: '', detail: undefined }
    this.#waiting.push(block)
    return block
  }

  #add(block: Block, text: string): void {
    block.gathered += text
    this.#goOn()
  }

  #goOn(): void {
    while (this.#waiting.length > 0 && (!this.#open || isOver(this.#open))) this.#next()
    this.#say()
  }

  /** Ends the open block and begins the next. */
  #next(): void {
    if (this.#open) this.#close(this.#open)
    this.#open = this.#waiting.shift() ?? null
    if (!this.#open) return
    this.#index += 1
    this.#log.start(this.#index, this.tokens)
    this.#out.push(eventOf('content_block_start', { index: this.#index, content_block: this.#open.content }))
    this.#say()
  }

  #say(): void {
    const block = this.#open
    if (!block || block.gathered === '') return
    this.#delta(deltaOf(block))
    block.gathered = ''
  }

  #close({ kind, detail }: Block): void {
    this.#say()
    if (kind === 'thinking') {
      this.#delta({ type: 'signature_delta', signature: carried(this.#provider, detail) })
    }
    this.#log.stop(this.#index, this.tokens)
    this.#out.push(blockStop(this.#index))
  }

  #delta(delta: Json): void {
    this.#out.push(eventOf('content_block_delta', { index: this.#index, delta }))
  }
}

/** Words end where something else begins; a tool's input where its JSON does. */
function isOver({ kind, input }: Block): boolean {
  return kind !== 'tool' || input.isReached
}

function deltaOf({ kind, gathered }: Block): Json {
  switch (kind) {
    case 'text':
      return { type: 'text_delta', text: gathered }
    case 'thinking':
      return { type: 'thinking_delta', thinking: gathered }
    case 'tool':
    case 'redacted':
      return { type: 'input_json_delta', partial_json: gathered }
  }
}
