/** One connection of the load generator: asks, reads the answer of either framing, and compares it with what was due. */

import { connect } from 'node:net'
import type { Socket } from 'node:net'

import { streamEvents, usedTokens, wholeAnswer } from './payloads.ts'

export interface CallerSettings {
  port: number
  request: Buffer
  streamed: boolean
  /** Every byte is compared; else, what a translation has to keep. */
  isPassedOn: boolean
  /** `answer` tells its latency in ms, `failure` its reason, `read` how many events came in one read. */
  tell(caller: Caller, event: 'answer' | 'failure' | 'read', value: number | string): void
}

/** Up to the event with the usage every relay has to pass the very same bytes; that event may tell more (a cost). */
const streamStart = Buffer.concat(streamEvents.slice(0, -2))
const usageMark = `"prompt_tokens":${usedTokens.input},"completion_tokens":${usedTokens.output}`
const lineFeed = 10

export class Caller {
  private readonly settings: CallerSettings
  private socket: Socket | undefined
  private askedAt = 0
  private firstEventAt = 0
  private busy = false

  /** What has been read and not been understood yet: part of the head, or of a line between chunks. */
  private pending: Buffer | undefined
  private inHead = true
  private chunked = false
  private lastChunk = false
  /** Bytes until the end of the body, or of the chunk. */
  private left = 0
  /** Bytes of the body that were compared. */
  private seen = 0
  private lineFeeds = 0
  private tail = ''

  constructor(settings: CallerSettings) {
    this.settings = settings
  }

  ask(): void {
    this.socket ??= this.open()
    this.busy = true
    this.inHead = true
    this.lastChunk = false
    this.seen = 0
    this.tail = ''
    this.pending = undefined
    this.firstEventAt = 0
    this.askedAt = performance.now()
    this.socket.write(this.settings.request)
  }

  hangUp(): void {
    this.socket?.destroy()
  }

  private open(): Socket {
    const socket = connect({ port: this.settings.port, host: '127.0.0.1', noDelay: true })
    socket.on('data', (bytes) => typeof bytes === 'string' || this.read(bytes))
    socket.on('error', (error) => this.fail(error.message))
    socket.on('close', () => {
      if (this.socket === socket) this.fail('the connection was closed')
    })
    return socket
  }

  private fail(reason: string): void {
    const socket = this.socket
    this.socket = undefined
    socket?.destroy()
    if (!this.busy) return
    this.busy = false
    // Not at once: a relay that refuses everything must not be hammered.
    setTimeout(() => this.settings.tell(this, 'failure', reason), 20)
  }

  private read(bytes: Buffer): void {
    let rest = this.pending ? Buffer.concat([this.pending, bytes]) : bytes
    this.pending = undefined
    if (!this.busy) return
    if (this.inHead) {
      const end = rest.indexOf('\r\n\r\n')
      if (end < 0) {
        this.pending = rest
        return
      }
      if (!this.readHead(rest.toString('latin1', 0, end))) return
      rest = rest.subarray(end + 4)
    }
    if (rest.length === 0) return
    this.lineFeeds = 0
    const complete = this.chunked ? this.readChunks(rest) : this.readPart(rest)
    // Each event ends with an empty line and has no other line ends.
    if (this.lineFeeds > 0) this.settings.tell(this, 'read', this.lineFeeds / 2)
    if (complete) this.finish()
  }

  private readHead(head: string): boolean {
    const status = head.slice(9, 12)
    if (status !== '200') {
      this.fail(`status ${status}`)
      return false
    }
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.chunked = length === undefined
    this.left = Number(length ?? 0)
    this.inHead = false
    return true
  }

  /** Takes bytes of the body; true when the body, or the chunk, is complete. */
  private readPart(part: Buffer): boolean {
    const expected = this.settings.streamed ? streamStart : wholeAnswer
    const left = this.settings.isPassedOn ? expected.length - this.seen : 0
    const compared = Math.max(0, Math.min(part.length, left))
    if (this.settings.streamed) this.lineFeeds += lineFeedsIn(part)
    if (compared > 0 && part.compare(expected, this.seen, this.seen + compared, 0, compared) !== 0) {
      this.fail('the answer has other bytes than the upstream sent')
      return false
    }
    if (this.seen === 0) this.firstEventAt = performance.now()
    if (part.length > compared) this.tail += part.toString('latin1', compared)
    this.seen += part.length
    this.left -= part.length
    return this.left === 0
  }

  /** Takes bytes of a chunked body (RFC 9112, section 7.1); true when it is complete. */
  private readChunks(bytes: Buffer): boolean {
    let at = 0
    while (at < bytes.length && this.busy) {
      if (this.left > 0) {
        const part = bytes.subarray(at, at + this.left)
        this.readPart(part)
        at += part.length
        continue
      }
      const lineEnd = bytes.indexOf('\r\n', at)
      if (lineEnd < 0) {
        this.pending = bytes.subarray(at)
        return false
      }
      const line = bytes.toString('latin1', at, lineEnd)
      at = lineEnd + 2
      if (line === '' && this.lastChunk) return true
      // An empty line else is the end of a chunk; what follows the last chunk are trailers.
      if (line === '' || this.lastChunk) continue
      this.left = Number.parseInt(line, 16)
      this.lastChunk = this.left === 0
    }
    return false
  }

  private finish(): void {
    const { streamed, isPassedOn } = this.settings
    const hasUsage = this.tail.includes(usageMark)
    const isWhole = isPassedOn ? this.seen === wholeAnswer.length : hasUsage
    const good = streamed ? hasUsage && this.tail.endsWith('data: [DONE]\n\n') : isWhole
    if (!good) {
      this.fail('the answer is not complete')
      return
    }
    this.busy = false
    this.settings.tell(this, 'answer', (streamed ? this.firstEventAt : performance.now()) - this.askedAt)
  }
}

function lineFeedsIn(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) count++
  return count
}
