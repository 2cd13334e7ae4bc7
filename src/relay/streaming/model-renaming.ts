/**
 * Replaces the upstream's name for the model in a response with the caller's, where the route renames the model. In
 * bytes that are passed through, only this value is replaced: the members before it are skipped, none is parsed.
 */
import { JsonCursor, MalformedJsonError } from '../../lib/json/json-cursor.ts'
import { SseEvent } from '../../lib/sse/sse-event.ts'
import { encodeSseEvent } from '../../lib/sse/sse-parser.ts'
import { isObject } from '../../providers/json-fields.ts'
import type { Provider } from '../../providers/provider.ts'
import type { UpstreamError } from '../routing/upstream-error.ts'

type NativeFormat = NonNullable<Provider['nativeFormat']>
type Path = readonly [string, ...string[]]

/** Where responses and chunks have the name. */
const responsePath: Path = ['model']
/** Where the events of the callers' own formats have it: of Anthropic's only the first one. */
const eventPaths: { readonly [Format in NativeFormat]?: Path } = {
  messages: ['message', 'model'],
  responses: ['response', 'model'],
}

const quote = 0x22
const openBrace = 0x7b
/** The memory for renamed events, of which a thread handles one at a time; a larger event gets its own. */
const scratch = Buffer.allocUnsafeSlow(4096)

interface Range {
  readonly start: number
  readonly end: number
}

function replaceRange(text: Buffer, { start, end }: Range, value: Buffer): Buffer {
  return Buffer.concat([text.subarray(0, start), value, text.subarray(end)])
}

/** The range of the string at the path; `null`: there is none. */
function findString(text: Buffer, path: Path): Range | null {
  const cursor = new JsonCursor(text)
  const names = path.values()
  try {
    for (;;) {
      const name = names.next().value
      if (cursor.skipSpace() !== (name === undefined ? quote : openBrace)) return null
      const start = cursor.at
      if (name === undefined) {
        cursor.skipValue()
        return { start, end: cursor.at }
      }
      if (!enterMember(cursor, name)) return null
    }
  } catch (error) {
    if (error instanceof MalformedJsonError) return null
    throw error
  }
}

/** Moves to the value of a member of the object at the cursor. */
function enterMember(cursor: JsonCursor, name: string): boolean {
  for (let hasMember = cursor.enterObject(); hasMember; hasMember = cursor.nextMember()) {
    cursor.readKey()
    if (cursor.isKey(name)) return true
    cursor.skipValue()
  }
  return false
}

/** A complete response with this name for its model; `null` keeps the upstream's. */
export function renameModel(bytes: Buffer, name: string | null | undefined): Buffer {
  const found = typeof name === 'string' ? findString(bytes, responsePath) : null
  return found ? replaceRange(bytes, found, Buffer.from(JSON.stringify(name))) : bytes
}

/** As `renameModel`, for a parsed response or chunk. */
export function renameModelIn<Value>(json: Value, name: string | null | undefined): Value {
  if (typeof name !== 'string' || !isObject(json) || typeof json['model'] !== 'string') return json
  return { ...json, model: name }
}

/** The error with the caller's name for the model in its message, unless the upstream's may be an ordinary word. */
export function renameModelInError(
  error: UpstreamError,
  { upstreamModel, returnedModel }: { readonly upstreamModel: string; readonly returnedModel: string | null },
): UpstreamError {
  if (returnedModel === null || !/[\d\-._/:]/.test(upstreamModel)) return error
  const name = new RegExp(`(?<![\\w.-])${RegExp.escape(upstreamModel)}(?![\\w-])`, 'g')
  return { ...error, message: error.message.replaceAll(name, () => returnedModel) }
}

/** Renames the model in the events of a stream. */
export class ModelRenaming {
  readonly #name: Buffer
  readonly #path: Path
  readonly #isOnce: boolean
  readonly #event = new SseEvent()
  #isDone = false

  /** `format`: of the stream; absent: the OpenAI format. */
  constructor(name: string, format?: NativeFormat) {
    this.#name = Buffer.from(JSON.stringify(name))
    this.#path = (format && eventPaths[format]) ?? responsePath
    this.#isOnce = format === 'messages'
  }

  /** The event with the caller's name, valid until the next one is renamed. */
  rename(event: SseEvent): SseEvent {
    if (this.#isDone) return event
    const { data } = event
    const found = findString(data, this.#path)
    if (!found) return event
    this.#isDone = this.#isOnce
    const { source, start, end, dataStart, dataEnd, isPlain } = event
    if (dataEnd - dataStart !== data.length) {
      const renamed = replaceRange(data, found, this.#name)
      const bytes = encodeSseEvent(renamed.toString(), event.name === '' ? undefined : event.name)
      this.#event.read(bytes, 0, bytes.length)
      return this.#event
    }
    const valueStart = dataStart + found.start
    const valueEnd = dataStart + found.end
    const length = end - start - (found.end - found.start) + this.#name.length
    const bytes = length <= scratch.length ? scratch : Buffer.allocUnsafe(length)
    const nameStart = source.copy(bytes, 0, start, valueStart)
    const nameEnd = nameStart + this.#name.copy(bytes, nameStart)
    source.copy(bytes, nameEnd, valueEnd, end)
    if (isPlain) this.#event.readPlain(bytes, 0, length)
    else this.#event.read(bytes, 0, length)
    return this.#event
  }
}
