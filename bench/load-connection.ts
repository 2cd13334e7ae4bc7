/**
 * One connection of the load generator: sends requests, parses responses with either framing, and compares
 * them with what is expected.
 */

import { connect } from 'node:net'
import type { Socket } from 'node:net'

import type { ExpectedResponse } from './operation-payloads.ts'

export interface LoadConnectionOptions {
  port: number
  request: Buffer
  isStream: boolean
  expected: ExpectedResponse
  /** Every byte is compared. Otherwise only what a translation must preserve. */
  isPassthrough: boolean
  /** `answer` passes the latency in ms, `failure` the reason, `read` the number of events in one read. */
  onEvent(caller: LoadConnection, event: 'answer' | 'failure' | 'read', value: number | string): void
}

const lineFeed = 10

export class LoadConnection {
  private readonly options: LoadConnectionOptions
  private socket: Socket | undefined
  private sentAt = 0
  private firstEventAt = 0
  private isBusy = false

  /** Bytes read but not parsed yet: part of the head, or of a line between chunks. */
  private pending: Buffer | undefined
  private isReadingHead = true
  private isChunked = false
  private isLastChunk = false
  /** Bytes until the end of the body, or of the chunk. */
  private left = 0
  /** Bytes of the body that have been compared. */
  private comparedBytes = 0
  private lineFeeds = 0
  private tail = ''

  constructor(options: LoadConnectionOptions) {
    this.options = options
  }

  sendRequest(): void {
    this.socket ??= this.open()
    this.isBusy = true
    this.isReadingHead = true
    this.isLastChunk = false
    this.comparedBytes = 0
    this.tail = ''
    this.pending = undefined
    this.firstEventAt = 0
    this.sentAt = performance.now()
    this.socket.write(this.options.request)
  }

  close(): void {
    this.socket?.destroy()
  }

  private open(): Socket {
    const socket = connect({ port: this.options.port, host: '127.0.0.1', noDelay: true })
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
    if (!this.isBusy) return
    this.isBusy = false
    // Not immediately, so that a relay that rejects everything is not hammered.
    setTimeout(() => this.options.onEvent(this, 'failure', reason), 20)
  }

  private read(bytes: Buffer): void {
    let rest = this.pending ? Buffer.concat([this.pending, bytes]) : bytes
    this.pending = undefined
    if (!this.isBusy) return
    if (this.isReadingHead) {
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
    const complete = this.isChunked ? this.readChunks(rest) : this.readPart(rest)
    const { lineFeedsPerEvent } = this.options.expected
    if (this.lineFeeds > 0) this.options.onEvent(this, 'read', this.lineFeeds / lineFeedsPerEvent)
    if (complete) this.finish()
  }

  private readHead(head: string): boolean {
    const status = head.slice(9, 12)
    if (status !== '200') {
      this.fail(`status ${status}`)
      return false
    }
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.isChunked = length === undefined
    this.left = Number(length ?? 0)
    this.isReadingHead = false
    return true
  }

  /** Handles bytes of the body. True when the body, or the chunk, is complete. */
  private readPart(part: Buffer): boolean {
    const { json, streamStart } = this.options.expected
    const expected = this.options.isStream ? streamStart : json
    const left = this.options.isPassthrough ? expected.length - this.comparedBytes : 0
    const compared = Math.max(0, Math.min(part.length, left))
    if (this.options.isStream) this.lineFeeds += countLineFeeds(part)
    if (
      compared > 0 &&
      part.compare(expected, this.comparedBytes, this.comparedBytes + compared, 0, compared) !== 0
    ) {
      this.fail('the response has other bytes than the upstream sent')
      return false
    }
    if (this.comparedBytes === 0) this.firstEventAt = performance.now()
    if (part.length > compared) this.tail += part.toString('latin1', compared)
    this.comparedBytes += part.length
    this.left -= part.length
    return this.left === 0
  }

  /** Handles bytes of a chunked body (RFC 9112, section 7.1). True when it is complete. */
  private readChunks(bytes: Buffer): boolean {
    let at = 0
    while (at < bytes.length && this.isBusy) {
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
      if (line === '' && this.isLastChunk) return true
      // Any other empty line ends a chunk; trailers follow the last chunk.
      if (line === '' || this.isLastChunk) continue
      this.left = Number.parseInt(line, 16)
      this.isLastChunk = this.left === 0
    }
    return false
  }

  private finish(): void {
    const { isStream, isPassthrough, expected } = this.options
    const hasUsage = this.tail.includes(expected.usageMark)
    const isWhole = isPassthrough ? this.comparedBytes === expected.json.length : hasUsage
    const good = isStream ? hasUsage && this.tail.endsWith(expected.streamEnd) : isWhole
    if (!good) {
      this.fail('the response is incomplete')
      return
    }
    this.isBusy = false
    this.options.onEvent(this, 'answer', (isStream ? this.firstEventAt : performance.now()) - this.sentAt)
  }
}

function countLineFeeds(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) count++
  return count
}
