/**
 * Passes a stream of the Responses API through to a caller of the same format: every event unchanged, except that
 * `encrypted_content` names its holder, and the last one when the response is paid for. A stream that is cut ends with `error` and `response.failed`, whose numbers continue those
 * of the events that were sent.
 */
import { apiError, type ApiError } from '../errors.ts'
import { encodeSseEvent } from '../lib/sse/sse-parser.ts'
import { getNumber, getObject, getString, isObject, type Json } from '../providers/json-fields.ts'
import type { TokenUsage } from '../providers/usage.ts'
import { addHolder, isHeld } from './encrypted-content.ts'
import { normalizedBytes, type ReceivedEvent } from './received-event.ts'
import { encodeErrorEvent } from './responses-error.ts'
import { encodeResponsesEvent } from './responses-event-log.ts'
import { serializeResponsesUsage } from './responses-object.ts'
import {
  failedBeforeStart,
  isAtPaidMaximum,
  type CutStream,
  type ResponsesConclusion,
} from './responses-stream.ts'

const terminalEvents = new Set(['response.completed', 'response.incomplete', 'response.failed'])
const firstEvents = new Set(['response.created', 'response.queued', 'response.in_progress'])
const itemEvents = new Set(['response.output_item.added', 'response.output_item.done'])
/** What is needed of them if the stream is cut: the response, and its items. */
const keptEvents = new Set(['response.created', 'response.in_progress', 'response.output_item.done'])
const typeField = /^\s*\{\s*"type"\s*:\s*"(?<type>[^"\\]*)"/

interface KeptEvent {
  readonly event: Json
  readonly tokens: number
}

/** The type of an event of the Responses API. */
export function eventType({ name, text }: Pick<ReceivedEvent, 'name' | 'text'>): string {
  if (name !== '') return name
  return typeField.exec(text)?.groups?.['type'] ?? getString(parseEvent(text), 'type') ?? ''
}

function parseEvent(text: string): Json {
  const event: unknown = JSON.parse(text)
  return isObject(event) ? event : {}
}

export class ResponsesPassthrough {
  readonly #meter: { readonly tokens: number }
  readonly #request: Json
  readonly #holder: string
  readonly #kept: KeptEvent[] = []
  /** The output tokens up to and including each event. */
  readonly #positions: number[] = []
  /** Of a stream that may be cut at a maximum: the items that were begun, and their texts by item and part. */
  readonly #mayBeCut: boolean
  readonly #added: Json[] = []
  readonly #texts = new Map<number, Map<number, string>>()
  #lastEvent: Buffer | null = null
  /** An event other than the first ones has come: until then, another upstream may take over unseen. */
  hasStarted = false
  #incompleteReason: string | undefined

  /** `meter` must have read each event before it is encoded. */
  constructor(
    request: Json,
    meter: { readonly tokens: number },
    { holder, mayBeCut }: { readonly holder: string; readonly mayBeCut: boolean },
  ) {
    this.#request = request
    this.#meter = meter
    this.#holder = holder
    this.#mayBeCut = mayBeCut
  }

  encode(_chunk: unknown, _facts: unknown, event: ReceivedEvent | null): Buffer | null {
    if (!event) return null
    const type = eventType(event)
    const isTerminal = terminalEvents.has(type)
    this.hasStarted ||= !firstEvents.has(type)
    // Only events with whole items have it.
    const held = (isTerminal || itemEvents.has(type)) && isHeld(event.text)
    const text = held ? addHolder(event.text, this.#holder) : event.text
    const bytes = held ? encodeSseEvent(text, event.name || undefined) : normalizedBytes(event)
    if (isTerminal) {
      this.#lastEvent = Buffer.from(bytes)
      if (type === 'response.incomplete') this.#incompleteReason = reasonOf(parseEvent(text))
      return null
    }
    const { tokens } = this.#meter
    if (keptEvents.has(type)) this.#kept.push({ event: parseEvent(text), tokens })
    if (this.#mayBeCut && type === 'response.output_item.added') this.#added.push(parseEvent(text))
    if (this.#mayBeCut && type === 'response.output_text.delta') this.#keepText(parseEvent(text))
    this.#positions.push(tokens)
    return bytes
  }

  outputItems(): readonly Json[] {
    return this.#kept.map(({ event }) => event['item']).filter(isObject)
  }

  finalEvents(conclusion: ResponsesConclusion): Buffer[] {
    const { cutBy, paidTokens, usage } = conclusion
    if (cutBy === 'maximum') return [this.#incompleteEvent(usage)]
    // Clients would repeat an incomplete response, which cannot be paid.
    if (cutBy === 'money' || isAtPaidMaximum(this.#incompleteReason, conclusion)) {
      const sentTokens = cutBy === 'money' ? paidTokens : Infinity
      return [this.errorEvents(apiError('insufficient_quota'), { sentTokens, usage })]
    }
    return this.#lastEvent ? [this.#lastEvent] : []
  }

  /** The end of a response as if its upstream had obeyed the maximum: with the text so far of items that are not complete. */
  #incompleteEvent(usage: TokenUsage): Buffer {
    const events = this.#kept.map(({ event }) => event)
    const response = events.findLast((event) => isObject(event['response']))?.['response']
    const done = events.filter(({ type }) => type === 'response.output_item.done')
    const isDone = (added: Json): boolean =>
      done.some((event) => getNumber(event, 'output_index') === getNumber(added, 'output_index'))
    const partial = this.#added.filter((added) => !isDone(added)).map((added) => this.#partialItem(added))
    const incomplete = {
      ...(isObject(response) ? response : {}),
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [...done, ...partial].toSorted(byIndex).map((event) => getObject(event, 'item')),
      usage: serializeResponsesUsage(usage),
    }
    return encodeResponsesEvent('response.incomplete', this.#positions.length, { response: incomplete })
  }

  #partialItem(added: Json): Json {
    const index = getNumber(added, 'output_index') ?? 0
    const texts = [...(this.#texts.get(index) ?? [])]
    const content = texts.map(([, text]) => ({ type: 'output_text', text, annotations: [] }))
    const item = { ...getObject(added, 'item'), status: 'incomplete' }
    return { ...added, item: content.length > 0 ? { ...item, content } : item }
  }

  /** Keeps the text of an event, if the stream may be cut. */
  #keepText(event: Json): void {
    const index = getNumber(event, 'output_index') ?? 0
    const part = getNumber(event, 'content_index') ?? 0
    const texts = this.#texts.get(index) ?? new Map<number, string>()
    texts.set(part, (texts.get(part) ?? '') + (getString(event, 'delta') ?? ''))
    this.#texts.set(index, texts)
  }

  /** The last events of a stream that is cut. */
  errorEvents(error: ApiError, { sentTokens, usage }: CutStream): Buffer {
    const sent = this.#kept.filter(({ tokens }) => tokens <= sentTokens).map(({ event }) => event)
    const response = sent.findLast((event) => isObject(event['response']))?.['response']
    if (!isObject(response)) return failedBeforeStart(error, this.#request)
    const items = sent.filter(({ type }) => type === 'response.output_item.done')
    const { code, message } = error.toBody().error
    const failed = {
      ...response,
      status: 'failed',
      error: { code, message },
      output: items.toSorted(byIndex).map((event) => getObject(event, 'item')),
      usage: usage && serializeResponsesUsage(usage),
    }
    const next = this.#positions.filter((tokens) => tokens <= sentTokens).length
    return Buffer.concat([
      encodeErrorEvent(error, next),
      encodeResponsesEvent('response.failed', next + 1, { response: failed }),
    ])
  }
}

function reasonOf(event: Json): string | undefined {
  const details = getObject(getObject(event, 'response') ?? {}, 'incomplete_details')
  return details && getString(details, 'reason')
}

function byIndex(left: Json, right: Json): number {
  return (getNumber(left, 'output_index') ?? 0) - (getNumber(right, 'output_index') ?? 0)
}
