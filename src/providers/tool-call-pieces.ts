/** The pieces of tool calls in a stream of the OpenAI format. */
import { getNumber, getObject, getString, type Json } from './json-fields.ts'

/** The arguments in a call or a piece of one as text: some servers send them as an object. Empty: there are none. */
export function encodeArguments(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

interface BegunCall {
  readonly number: number
  readonly key: number
  readonly id: string
}

/**
 * Decides to which call a piece belongs: by its index, else by its id, else by its position. Some upstreams number every call
 * 0, or none, so a new id with a name begins another call.
 */
export class CallPieces {
  /** The latest call of each index or position. */
  readonly #latest = new Map<number, BegunCall>()
  readonly #calls: BegunCall[] = []

  /** The number of the call, in the order in which they begin. `position`: of the piece in its list. */
  numberOf(piece: Json, position: number): number {
    const index = getNumber(piece, 'index')
    const id = getString(piece, 'id') ?? ''
    const known = id === '' ? undefined : this.#withId(id, index)
    if (known) return known.number
    const key = index ?? position
    const latest = this.#latest.get(key)
    const name = getString(getObject(piece, 'function') ?? {}, 'name') ?? ''
    const isOther = name !== '' && id !== ''
    return latest && !isOther ? latest.number : this.#begin(key, id)
  }

  #withId(id: string, index: number | undefined): BegunCall | undefined {
    return this.#calls.findLast((call) => call.id === id && (index === undefined || call.key === index))
  }

  #begin(key: number, id: string): number {
    const call = { number: this.#calls.length, key, id }
    this.#calls.push(call)
    this.#latest.set(key, call)
    return call.number
  }
}
