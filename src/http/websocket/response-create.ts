/**
 * The frames of a client: `{"type": "response.create", …}` with the fields of `POST /v1/responses`. A frame becomes the
 * body of an ordinary request; one that continues a response of its connection gets the items of that response first.
 */
import { apiError } from '../../errors.ts'
import { triggerType } from '../../formats/responses-compaction.ts'
import type { JsonCursor } from '../../lib/json/json-cursor.ts'
import type { JsonMember, JsonValueVisitor } from '../../lib/json/json-scanner.ts'
import { getString, isObject } from '../../providers/json-fields.ts'
import { patchBody, scanBody, type ScannedBody } from '../../relay/request/request-body.ts'

const quote = 0x22
const openBracket = 0x5b

/** Items of a conversation, as the elements of a JSON array without its brackets. */
export interface Items {
  readonly text: Buffer
  readonly count: number
}

export function joinItems(first: Items, second: Items): Items {
  const isJoined = first.count > 0 && second.count > 0
  const text = Buffer.concat([first.text, Buffer.from(isJoined ? ',' : ''), second.text])
  return { text, count: first.count + second.count }
}

/** The items without the one that asks for a compaction: it has had its response, and is valid at the end only. */
export function withoutTrigger(items: Items): Items {
  if (!items.text.includes(`"${triggerType}"`)) return items
  const parsed = JSON.parse(`[${items.text.toString()}]`) as unknown[]
  const kept = parsed.filter((item) => !(isObject(item) && item['type'] === triggerType))
  return { text: Buffer.from(JSON.stringify(kept).slice(1, -1)), count: kept.length }
}

/** Reads the input. Without one, or with what is no list and no text, there are no items. */
class InputScanner implements JsonValueVisitor {
  items: Items = { text: Buffer.alloc(0), count: 0 }

  visit(key: string, cursor: JsonCursor): void {
    if (key !== 'input') return
    const start = cursor.at
    if (cursor.text[start] === openBracket) {
      let count = 0
      for (let more = cursor.enterArray(); more; more = cursor.nextElement()) {
        cursor.skipValue()
        count++
      }
      this.items = { text: cursor.text.subarray(start + 1, cursor.at - 1), count }
    } else if (cursor.text[start] === quote) {
      cursor.skipValue()
      const content = cursor.text.toString('utf8', start, cursor.at)
      const text = Buffer.from(`{"type":"message","role":"user","content":${content}}`)
      this.items = { text, count: content.length > '""'.length ? 1 : 0 }
    }
  }
}

export class ResponseCreate {
  readonly #scanned: ScannedBody<InputScanner>

  /** Throws `invalid_json`. */
  constructor(frame: Buffer) {
    this.#scanned = scanBody(frame, () => new InputScanner())
  }

  /** The items of its input. */
  get items(): Items {
    return this.#scanned.scanner.items
  }

  /** The name of its lane; `null`: the unnamed one. Throws `invalid_stream_id`. */
  get streamId(): string | null {
    const value = this.#value('stream_id')
    if (value === undefined) return null
    if (typeof value === 'string' && /^[\w.-]{1,256}$/.test(value)) return value
    throw apiError('invalid_stream_id', { param: 'stream_id' })
  }

  /** It prepares a conversation and asks for no output. Throws 400. */
  get isWarmUp(): boolean {
    const generate = this.#value('generate') ?? true
    if (typeof generate === 'boolean') return !generate
    throw apiError('invalid_request', {
      param: 'generate',
      message: 'Invalid `generate`: must be a boolean.',
    })
  }

  /** The provider keeps the response, so it is continued there. */
  get isStored(): boolean {
    return this.#value('store') === true
  }

  /** The response that it continues; `null`: none. */
  get previousId(): string | null {
    const value = this.#value('previous_response_id')
    return typeof value === 'string' ? value : null
  }

  /** Throws 400 if it is no frame to create a response. */
  requireType(): void {
    if (this.#value('type') === 'response.create') return
    throw apiError('invalid_request', {
      param: 'type',
      message: 'Invalid `type`: must be "response.create".',
    })
  }

  /** The body of the request for which it stands. `earlier`: the items of the response that it continues. */
  body(earlier: Items | null): Buffer {
    const changes = new Map([['stream', 'true']])
    const dropped = ['type', 'stream_id', 'generate']
    if (earlier) {
      changes.set('input', `[${joinItems(earlier, this.items).text.toString()}]`)
      dropped.push('previous_response_id')
    }
    return Buffer.concat(patchBody(this.#scanned, changes, dropped))
  }

  /** Throws 400 if it has the output of a call that neither it nor the response that it continues has made. */
  requireCalls(earlier: Items): void {
    const items = JSON.parse(`[${this.items.text.toString()}]`) as unknown[]
    for (const [index, item] of items.entries()) {
      if (!isObject(item) || getString(item, 'type')?.endsWith('_call_output') !== true) continue
      const id = getString(item, 'call_id')
      if (id === undefined || earlier.text.includes(JSON.stringify(id))) continue
      if (items.slice(0, index).some((other) => isObject(other) && other['call_id'] === id)) continue
      const param = `input[${index}].call_id`
      throw apiError('invalid_request', { param, message: `Invalid \`${param}\`: no tool call has this id.` })
    }
  }

  /** `undefined`: absent or null. */
  #value(key: string): unknown {
    const { text, members } = this.#scanned
    const member = members.find((each: JsonMember) => each.key === key)
    return member && (JSON.parse(text.toString('utf8', member.start, member.end)) ?? undefined)
  }
}
