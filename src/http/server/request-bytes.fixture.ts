/**
 * Generates what clients send on one connection to make two parsers disagree where a request ends (request smuggling,
 * RFC 9112, 11.2): conflicting and malformed framing, odd line ends, pipelining, damage at any byte, cuts at any byte.
 * The same seed gives the same bytes.
 */
import { Prng } from '../../../sim/prng.ts'
import {
  chunkTexts,
  harmlessLines,
  lengthLines,
  oddLines,
  requestLines,
  transferEncodings,
} from './request-lines.fixture.ts'

export interface RequestBytesOptions {
  /** The authorization of requests; default: of no account. */
  readonly authorization?: string
  /** The bodies of requests; default: short texts. */
  readonly bodies?: readonly string[]
}

/** What a client sends on one connection, in the pieces in which it arrives. */
export function generateConnection(seed: number, options: RequestBytesOptions = {}): Buffer[] {
  const bytes = new ConnectionGenerator(new Prng(seed), options).connection()
  return bytes.map((piece) => Buffer.from(piece, 'latin1')).filter((piece) => piece.length > 0)
}

class ConnectionGenerator {
  readonly #prng: Prng
  readonly #authorization: string
  readonly #bodies: readonly string[]

  constructor(prng: Prng, options: RequestBytesOptions) {
    this.#prng = prng
    this.#authorization = options.authorization ?? 'Bearer key'
    this.#bodies = options.bodies ?? ['{}', '', '{"a":1}']
  }

  connection(): string[] {
    const count = this.#prng.pick([1, 1, 1, 2, 2, 3, 4])
    let bytes = ''
    for (let nth = 0; nth < count; nth += 1) bytes += this.#request(1)
    if (this.#prng.bool(0.1)) bytes += this.#prng.pick(['\r\n', '0\r\n\r\n', 'G', '\0', '\r\n\r\n\r\n'])
    if (this.#prng.bool(0.25)) bytes = this.#damage(bytes)
    return this.#cut(bytes)
  }

  /** Most requests are odd in one way or not at all. `depth` 0: a plain request, for the inside of a body. */
  #request(depth: number): string {
    const prng = this.#prng
    const isOdd = (probability: number): boolean => depth > 0 && prng.bool(probability)
    const line = isOdd(0.15) ? prng.pick(requestLines) : requestLines[prng.bool(0.9) ? 0 : 1]
    const content = isOdd(0.2) ? this.#request(0) : prng.pick(this.#bodies)
    const { lines, body } = isOdd(0.35) ? this.#oddFraming(content) : this.#plainFraming(content)
    const hosts = isOdd(0.03) ? prng.pick([[], ['Host:\r\n'], ['Host: a b\r\n']]) : ['Host: relay.test\r\n']
    const head = [...hosts, `Authorization: ${this.#authorization}\r\n`, ...lines]
    while (prng.bool(0.35)) head.push(prng.pick(harmlessLines))
    for (let probability = 0.35; isOdd(probability); probability /= 2) head.push(prng.pick(oddLines))
    if (isOdd(0.03)) head.push(this.#hugeLines())
    const end = isOdd(0.03) ? prng.pick(['\n', '\r', '', '\r\r\n', ' \r\n']) : '\r\n'
    return `${line}${this.#shuffle(head).join('')}${end}${body}`
  }

  #plainFraming(content: string): { lines: string[]; body: string } {
    return { lines: [`Content-Length: ${content.length}\r\n`], body: content }
  }

  #oddFraming(content: string): { lines: string[]; body: string } {
    const prng = this.#prng
    const chunked = this.#chunked(content)
    switch (prng.below(5)) {
      case 0:
        return { lines: [], body: content }
      case 1:
        return { lines: [prng.pick(lengthLines(content.length))], body: content }
      case 2:
        return { lines: [prng.pick(transferEncodings)], body: chunked }
      case 3:
        return { lines: ['Transfer-Encoding: chunked\r\n'], body: chunked }
      default: {
        const length = prng.pick([0, content.length, chunked.length, Math.max(0, chunked.length - 5)])
        const lengths = prng.bool(0.7) ? `Content-Length: ${length}\r\n` : prng.pick(lengthLines(length))
        return { lines: [lengths, prng.pick(transferEncodings)], body: chunked }
      }
    }
  }

  /** The content in chunks; often with a framing that some decoders misread. */
  #chunked(content: string): string {
    const prng = this.#prng
    const size = content.length.toString(16)
    if (prng.bool(0.3)) return content === '' ? '0\r\n\r\n' : `${size}\r\n${content}\r\n0\r\n\r\n`
    const { sizes, extensions, sizeEnds, dataEnds, lastChunks, trailers, ends } = chunkTexts
    const chunk =
      this.#mostlyFirst(sizes(size)) +
      prng.pick(extensions) +
      this.#mostlyFirst(sizeEnds) +
      content +
      this.#mostlyFirst(dataEnds)
    return chunk + this.#mostlyFirst(lastChunks) + this.#mostlyFirst(trailers) + this.#mostlyFirst(ends)
  }

  #mostlyFirst(texts: readonly string[]): string {
    return (this.#prng.bool(0.7) ? texts[0] : this.#prng.pick(texts)) ?? ''
  }

  /** A head near or beyond the maximum of bytes or of headers. */
  #hugeLines(): string {
    const prng = this.#prng
    if (prng.bool(0.5)) return 'X-A: b\r\n'.repeat(prng.pick([90, 97, 98, 99, 100, 110, 1990, 2100]))
    return `X-A: ${'a'.repeat(prng.pick([8000, 16_200, 16_250, 16_300, 16_384, 20_000]))}\r\n`
  }

  #shuffle(lines: string[]): string[] {
    if (this.#prng.bool(0.5)) return lines
    for (let at = lines.length - 1; at > 0; at -= 1) {
      const other = this.#prng.below(at + 1)
      ;[lines[at], lines[other]] = [lines[other] ?? '', lines[at] ?? '']
    }
    return lines
  }

  /** Changes, removes or inserts a byte, most often one that has a meaning. */
  #damage(bytes: string): string {
    const prng = this.#prng
    const at = prng.below(bytes.length + 1)
    const byte = prng.bool(0.7)
      ? prng.pick(Array.from('\r\n\0 \t:;,0'))
      : String.fromCharCode(prng.below(256))
    const removed = prng.pick([0, 1, 1, 2])
    return bytes.slice(0, at) + (prng.bool(0.3) ? '' : byte) + bytes.slice(at + removed)
  }

  #cut(bytes: string): string[] {
    const prng = this.#prng
    if (bytes.length < 400 && prng.bool(0.02)) return Array.from(bytes)
    const cuts = Array.from({ length: prng.pick([0, 0, 1, 1, 2, 4]) }, () => prng.below(bytes.length + 1))
    const bounds = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
    return bounds.slice(1).map((end, index) => bytes.slice(bounds[index], end))
  }
}
