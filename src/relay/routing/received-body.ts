/** The body of a response that is read to its end before any of it is sent on. */

/** At most this much of an error's body is read. */
export const maxErrorBodyBytes = 65_536
/** The time-out of a body restarts each time this many bytes have arrived: byte by byte is no progress. */
const minProgressBytes = 1024

export class ReceivedBody {
  readonly #chunks: Buffer[] = []
  #progressBytes = 0
  /** The bytes that have arrived. */
  length = 0

  /** Counts bytes. True if there has been progress. */
  count(bytes: number): boolean {
    this.length += bytes
    if (this.length - this.#progressBytes < minProgressBytes) return false
    this.#progressBytes = this.length
    return true
  }

  /** Keeps a copy of bytes that were counted. */
  keep(chunk: Buffer): void {
    this.#chunks.push(Buffer.from(chunk))
  }

  /** What was kept. */
  bytes(): Buffer {
    const [first] = this.#chunks
    return this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks)
  }
}
