/**
 * One exchange of a scripted upstream: the request as it was received, and the little language in which scripts
 * answer it. Scripts are values; a wrapper changes one word of the language and hands the rest on, so misbehaviour
 * is put together from parts (see scripts.ts).
 */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** What the upstream knows of one request. The fields below `at` change while it is being answered. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The body as it came. */
  readonly text: string
  /** The body as an object; empty when it is not one. */
  readonly json: Readonly<Record<string, unknown>>
  /** `performance.now()` when the whole body had arrived. */
  readonly at: number
  /** Bytes of the answer's body that the socket has taken: stops growing when the caller stops reading. */
  bytesSent: number
  /** The answer was written to its regular end. */
  finished: boolean
  /** The script destroyed the connection. */
  wasReset: boolean
  /** `performance.now()` when the caller left before the end. */
  abortedAt: number | null
  /** Resolves when the exchange is over, whichever side ended it. */
  readonly over: Promise<void>
}

/** Every word answers false once nothing more can be said: the caller left, or the script ended the answer. */
export interface Exchange {
  readonly request: Received
  /** Aborted when the exchange is over. */
  readonly signal: AbortSignal
  head(status: number, headers?: Record<string, string>): void
  /** Resolves when the socket has taken the bytes. */
  write(bytes: string | Buffer): Promise<boolean>
  /** One event of a stream, by its payload and, where the dialect has them, its name. */
  event(payload: string, name?: string): Promise<boolean>
  /** The bytes of one event. */
  frame(payload: string, name?: string): string
  /** The regular end of the answer. */
  end(): Promise<void>
  /** Destroys the connection. */
  reset(): void
  pause(ms: number): Promise<boolean>
}

export type Script = (exchange: Exchange) => Promise<unknown>

/** True when the request asks for a stream, in the common format, Anthropic's or Gemini's. */
export function asksForStream(request: Received): boolean {
  return request.json['stream'] === true || request.path.includes(':streamGenerateContent')
}

/** The model that a request names, in its body or (Gemini, Bedrock) in its path. */
export function modelOf(request: Received): string {
  const named = request.json['model']
  if (typeof named === 'string') return named
  return decodeURIComponent(/\/models?\/([^/:?]+)/.exec(request.path)?.[1] ?? '')
}

/** Reads a request to its end. Rejects when the caller leaves while still sending. */
export async function receive(request: IncomingMessage, over: Promise<void>): Promise<Received> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const text = Buffer.concat(parts).toString()
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    text,
    json: objectOf(text),
    at: performance.now(),
    bytesSent: 0,
    finished: false,
    wasReset: false,
    abortedAt: null,
    over,
  }
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** The language of scripts over one response of node:http. */
export function openExchange(request: Received, response: ServerResponse, signal: AbortSignal): Exchange {
  return {
    request,
    signal,
    head(status, headers = {}) {
      if (signal.aborted) return
      response.writeHead(status, headers)
      response.flushHeaders()
    },
    write(bytes) {
      if (signal.aborted || response.writableEnded) return Promise.resolve(false)
      return new Promise((resolve) => {
        const gone = () => resolve(false)
        signal.addEventListener('abort', gone, { once: true })
        response.write(bytes, (error) => {
          signal.removeEventListener('abort', gone)
          if (!error) request.bytesSent += Buffer.byteLength(bytes)
          resolve(!error && !signal.aborted && !response.writableEnded)
        })
      })
    },
    event(payload, name) {
      return this.write(this.frame(payload, name))
    },
    frame(payload, name) {
      return `${name === undefined ? '' : `event: ${name}\n`}data: ${payload}\n\n`
    },
    async end() {
      if (signal.aborted || response.writableEnded) return
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true })
        response.end(() => {
          request.finished = true
          resolve()
        })
      })
    },
    reset() {
      request.wasReset = true
      response.socket?.resetAndDestroy()
    },
    async pause(ms) {
      await delay(ms, null, { signal }).catch(() => null)
      return !signal.aborted
    },
  }
}
