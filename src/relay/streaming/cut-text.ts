/** Cuts an event of a stream within its text, where the response has to end there. */
import { encodeSseEvent } from '../../lib/sse/sse-parser.ts'
import { getObject, getString, isObject, type Json } from '../../providers/json-fields.ts'
import { estimateTokens, textWithin, type TokenCounter } from '../request/token-estimate.ts'

const deltaFields = new Set(['content', 'reasoning_content', 'reasoning'])
/** Texts of Anthropic's format, by the type of their delta. */
const blockFields: ReadonlyMap<string, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
])
/** Events of the Responses API whose `delta` is text. */
const textEvents = new Set(['response.output_text.delta', 'response.reasoning_summary_text.delta'])

export interface EventPart {
  readonly event: Json
  /** The tokens of its text. */
  readonly tokens: number
}

/**
 * The event with the longest beginning of its text that fits. `null`: nothing of it does, or it has something else than one
 * text, such as the call of a tool.
 */
export function cutText(event: unknown, fits: (count: TokenCounter) => boolean): EventPart | null {
  let kept = ''
  const cut = (text: string): string => (kept = textWithin(text, fits))
  const part = isObject(event) ? withText(event, cut) : null
  return part && kept !== '' ? { event: part, tokens: estimateTokens(kept) } : null
}

type Cut = (text: string) => string

function withText(event: Json, cut: Cut): Json | null {
  const { choices } = event
  if (Array.isArray(choices)) {
    const [choice, ...others] = choices as unknown[]
    const changed = isObject(choice) && others.length === 0 ? choiceWithText(choice, cut) : null
    const { usage: _billed, ...rest } = event
    return changed && { ...rest, choices: [changed] }
  }
  const type = getString(event, 'type') ?? ''
  const text = getString(event, 'delta')
  if (text !== undefined) return textEvents.has(type) ? { ...event, delta: cut(text) } : null
  const delta = getObject(event, 'delta') ?? {}
  const field = blockFields.get(getString(delta, 'type') ?? '') ?? ''
  const blockText = getString(delta, field)
  return type === 'content_block_delta' && blockText !== undefined
    ? { ...event, delta: { ...delta, [field]: cut(blockText) } }
    : null
}

function choiceWithText(choice: Json, cut: Cut): Json | null {
  const unfinished = { ...choice, finish_reason: null }
  const text = getString(choice, 'text')
  if (text !== undefined) return { ...unfinished, text: cut(text) }
  const delta = getObject(choice, 'delta') ?? {}
  const written = Object.entries(delta).filter(
    ([name, value]) => name !== 'role' && value !== null && value !== '',
  )
  const [[field, value] = ['', null]] = written
  if (written.length !== 1 || !deltaFields.has(field) || typeof value !== 'string') return null
  return { ...unfinished, delta: { ...delta, [field]: cut(value) } }
}

/** An event that begins something, and writes nothing itself. */
const beginnings = new Set([
  'message_start',
  'content_block_start',
  'response.created',
  'response.in_progress',
  'response.output_item.added',
  'response.content_part.added',
])
const encodedEvent = /(?:event: (?<name>[^\n]*)\n)?data: (?<data>[^\n]*)\n\n/y

export interface EncodedPart {
  readonly bytes: Buffer
  readonly tokens: number
}

function parseObject(data: string): Json | null {
  if (!data.startsWith('{')) return null
  const json: unknown = JSON.parse(data)
  return isObject(json) ? json : null
}

/**
 * Encoded events as far as this many tokens of the text in the last of them go; `null`: nothing of the text does, or they
 * write something else.
 */
export function cutEncoded(events: Buffer, tokens: number): EncodedPart | null {
  const text = events.toString()
  const pieces: Buffer[] = []
  encodedEvent.lastIndex = 0
  for (let at = 0; at < text.length; at = encodedEvent.lastIndex) {
    const { name, data = '' } = encodedEvent.exec(text)?.groups ?? {}
    const json = parseObject(data)
    if (!json) return null
    if (encodedEvent.lastIndex === text.length) {
      const part = cutText(json, (count) => count.tokens <= tokens)
      if (!part) return null
      return {
        bytes: Buffer.concat([...pieces, encodeSseEvent(JSON.stringify(part.event), name)]),
        tokens: part.tokens,
      }
    }
    if (!beginnings.has(getString(json, 'type') ?? '')) return null
    pieces.push(encodeSseEvent(data, name))
  }
  return null
}

/** Where a stream ends within its events. */
export interface CutPosition {
  /** The output tokens that are delivered. */
  readonly delivered: number
  /** The output tokens of the whole events of which anything is delivered. */
  readonly upTo: number
}
