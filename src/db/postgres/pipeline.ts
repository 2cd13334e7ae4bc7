/**
 * Several statements in one flight: sent together, each prepared once for its connection, answered together. pg by itself
 * sends one, waits for its answer and sends the next; a row that is locked would be waited for that often. The messages are
 * those of PostgreSQL's extended query (PostgreSQL, 55.2.3 and 55.7).
 */

import type { Client, Connection } from 'pg'

export interface Step {
  /** Tells it from all others, for its connection knows it by this name. */
  readonly name: string
  readonly text: string
}

/** A statement with its parameters as text. `rows`: what a `copy … from stdin` is given, as `copyText` writes it. */
export interface Flown {
  readonly step: Step
  readonly values?: readonly (string | null)[]
  readonly rows?: string
}

/** The cells of each row as text. */
export type FlownRows = readonly (string | null)[][]

const prepared = new WeakMap<Connection, Set<string>>()

/** The bytes of one message before its text: a letter, then a length. */
const headBytes = 5
const bytesOf = (text: string): number => Buffer.byteLength(text)

class Writer {
  readonly bytes: Buffer
  #at = 0

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size)
  }

  /** Begins a message of so many bytes. */
  head(letter: string, size: number): void {
    this.bytes[this.#at++] = letter.charCodeAt(0)
    this.int32(size - 1)
  }

  int16(value: number): void {
    this.#at = this.bytes.writeInt16BE(value, this.#at)
  }

  int32(value: number): void {
    this.#at = this.bytes.writeInt32BE(value, this.#at)
  }

  text(text: string): void {
    this.#at += this.bytes.write(text, this.#at)
  }

  ended(text: string): void {
    this.text(text)
    this.bytes[this.#at++] = 0
  }
}

/** Makes a message: how many bytes it takes, and what writes it. */
interface Message {
  readonly size: number
  readonly write: (writer: Writer) => void
}

function parse({ name, text }: Step): Message {
  const size = headBytes + bytesOf(name) + 1 + bytesOf(text) + 1 + 2
  return {
    size,
    write(writer) {
      writer.head('P', size)
      writer.ended(name)
      writer.ended(text)
      writer.int16(0)
    },
  }
}

function bind({ name }: Step, values: readonly (string | null)[]): Message {
  const sizes = values.map((value) => (value === null ? -1 : bytesOf(value)))
  const size = sizes.reduce((sum, each) => sum + 4 + Math.max(0, each), headBytes + 1 + bytesOf(name) + 1 + 6)
  return {
    size,
    write(writer) {
      writer.head('B', size)
      writer.ended('')
      writer.ended(name)
      writer.int16(0)
      writer.int16(values.length)
      for (const [index, value] of values.entries()) {
        writer.int32(sizes[index] ?? -1)
        if (value !== null) writer.text(value)
      }
      writer.int16(0)
    },
  }
}

const execute: Message = {
  size: headBytes + 5,
  write(writer) {
    writer.head('E', headBytes + 5)
    writer.ended('')
    writer.int32(0)
  },
}

function copied(rows: string): Message {
  const size = headBytes + bytesOf(rows)
  return {
    size: size + headBytes,
    write(writer) {
      writer.head('d', size)
      writer.text(rows)
      writer.head('c', headBytes)
    },
  }
}

const sync: Message = { size: headBytes, write: (writer) => writer.head('S', headBytes) }

function messagesOf(flown: readonly Flown[], known: Set<string>): Buffer {
  const messages: Message[] = []
  for (const { step, values = [], rows } of flown) {
    if (!known.has(step.name)) messages.push(parse(step))
    known.add(step.name)
    messages.push(bind(step, values), execute)
    if (rows !== undefined) messages.push(copied(rows))
  }
  messages.push(sync)
  const writer = new Writer(messages.reduce((sum, { size }) => sum + size, 0))
  for (const message of messages) message.write(writer)
  return writer.bytes
}

/** What pg calls while a flight is under way. */
class Flight {
  readonly #flown: readonly Flown[]
  readonly #results: (string | null)[][][] = []
  #rows: (string | null)[][] = []
  /** pg puts its own in front of it, which ends the time that it waits. */
  callback: (error: Error | null, results?: readonly FlownRows[]) => void

  constructor(flown: readonly Flown[], callback: Flight['callback']) {
    this.#flown = flown
    this.callback = callback
  }

  submit(connection: Connection): void {
    const known = prepared.get(connection) ?? new Set()
    prepared.set(connection, known)
    connection.stream.write(messagesOf(this.#flown, known))
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    this.#rows.push(fields)
  }

  handleCommandComplete(): void {
    this.#results.push(this.#rows)
    this.#rows = []
  }

  handleCopyInResponse(): void {
    // What it asks for is on its way.
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#results)
  }

  handleError(error: Error): void {
    this.callback(error)
  }
}

/**
 * Runs statements in one flight; the rows of each. When one fails, those after it are not carried out, and the connection
 * may have lost what was prepared: it is to be ended.
 */
export function fly(client: Client, flown: readonly Flown[]): Promise<readonly FlownRows[]> {
  return new Promise((resolve, reject) => {
    client.query(
      new Flight(flown, (error, results = []) => {
        if (error) reject(error)
        else resolve(results)
      }),
    )
  })
}
