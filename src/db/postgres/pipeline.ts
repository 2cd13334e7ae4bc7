/**
 * Pipelining: sends several prepared statements in one round trip. The pg client by itself sends each statement after the
 * response to the previous one. The messages are those of PostgreSQL's extended query protocol (PostgreSQL, 55.2.3 and
 * 55.7).
 */

import type { Client, Connection } from 'pg'

export interface PreparedStatement {
  /** The unique name under which a connection prepares it. */
  readonly name: string
  readonly text: string
}

/** A statement with its parameters as text. `copyRows`: the input of a `copy … from stdin`, from `formatCopyRows`. */
export interface PipelinedStatement {
  readonly statement: PreparedStatement
  readonly values?: readonly (string | null)[]
  readonly copyRows?: string
}

/** The cells of each row as text. */
export type ResultRows = readonly (string | null)[][]

const prepared = new WeakMap<Connection, Set<string>>()

/** The header of a message: a letter and a length. */
const headBytes = 5
const byteLength = (text: string): number => Buffer.byteLength(text)

class MessageWriter {
  readonly bytes: Buffer
  #at = 0

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size)
  }

  /** Begins a message of `size` bytes. */
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

  cString(text: string): void {
    this.text(text)
    this.bytes[this.#at++] = 0
  }
}

/** A message: its size, and the function that writes it. */
interface ProtocolMessage {
  readonly size: number
  readonly write: (writer: MessageWriter) => void
}

function parse({ name, text }: PreparedStatement): ProtocolMessage {
  const size = headBytes + byteLength(name) + 1 + byteLength(text) + 1 + 2
  return {
    size,
    write(writer) {
      writer.head('P', size)
      writer.cString(name)
      writer.cString(text)
      writer.int16(0)
    },
  }
}

function bind({ name }: PreparedStatement, values: readonly (string | null)[]): ProtocolMessage {
  const sizes = values.map((value) => (value === null ? -1 : byteLength(value)))
  const size = sizes.reduce(
    (sum, each) => sum + 4 + Math.max(0, each),
    headBytes + 1 + byteLength(name) + 1 + 6,
  )
  return {
    size,
    write(writer) {
      writer.head('B', size)
      writer.cString('')
      writer.cString(name)
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

const execute: ProtocolMessage = {
  size: headBytes + 5,
  write(writer) {
    writer.head('E', headBytes + 5)
    writer.cString('')
    writer.int32(0)
  },
}

function copyMessages(rows: string): ProtocolMessage {
  const size = headBytes + byteLength(rows)
  return {
    size: size + headBytes,
    write(writer) {
      writer.head('d', size)
      writer.text(rows)
      writer.head('c', headBytes)
    },
  }
}

const sync: ProtocolMessage = { size: headBytes, write: (writer) => writer.head('S', headBytes) }

function encodeMessages(statements: readonly PipelinedStatement[], preparedNames: Set<string>): Buffer {
  const messages: ProtocolMessage[] = []
  for (const { statement, values = [], copyRows } of statements) {
    if (!preparedNames.has(statement.name)) messages.push(parse(statement))
    preparedNames.add(statement.name)
    messages.push(bind(statement, values), execute)
    if (copyRows !== undefined) messages.push(copyMessages(copyRows))
  }
  messages.push(sync)
  const writer = new MessageWriter(messages.reduce((sum, { size }) => sum + size, 0))
  for (const message of messages) message.write(writer)
  return writer.bytes
}

/** The query object whose methods pg calls while the pipeline runs. */
class Pipeline {
  readonly #statements: readonly PipelinedStatement[]
  readonly #results: (string | null)[][][] = []
  #rows: (string | null)[][] = []
  /** pg wraps it with its own callback, which ends the query timeout. */
  callback: (error: Error | null, results?: readonly ResultRows[]) => void

  constructor(statements: readonly PipelinedStatement[], callback: Pipeline['callback']) {
    this.#statements = statements
    this.callback = callback
  }

  submit(connection: Connection): void {
    const preparedNames = prepared.get(connection) ?? new Set()
    prepared.set(connection, preparedNames)
    connection.stream.write(encodeMessages(this.#statements, preparedNames))
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    this.#rows.push(fields)
  }

  handleCommandComplete(): void {
    this.#results.push(this.#rows)
    this.#rows = []
  }

  handleCopyInResponse(): void {
    // The rows were sent already.
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#results)
  }

  handleError(error: Error): void {
    this.callback(error)
  }
}

/**
 * Runs statements in one round trip and returns the rows of each. If one fails, the statements after it are not executed,
 * and the connection must be closed, because its prepared statements may be lost.
 */
export function runPipelined(
  client: Client,
  statements: readonly PipelinedStatement[],
): Promise<readonly ResultRows[]> {
  return new Promise((resolve, reject) => {
    client.query(
      new Pipeline(statements, (error, results = []) => {
        if (error) reject(error)
        else resolve(results)
      }),
    )
  })
}
