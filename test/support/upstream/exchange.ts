/**
 * One HTTP exchange of a scripted upstream: the request, and the operations with which a script responds. Scripts are
 * values. A wrapper overrides one operation and passes the others on, so faults can be combined (fault-injection.ts).
 */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { scriptedDelay } from '../wait.ts'

/** One request. The fields below `at` change while the script responds. */
export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The raw body. */
  readonly text: string
  /** The body as an object; empty if it is not a JSON object. */
  readonly json: Readonly<Record<string, unknown>>
  /** `performance.now()` when the body was complete. */
  readonly at: number
  /** Bytes of the response body that the socket has accepted: stops growing when the caller stops reading. */
  bytesSent: number
  /** The response was sent completely. */
  finished: boolean
  /** The script destroyed the connection. */
  wasReset: boolean
  /** `performance.now()` when the caller disconnected before the end. */
  abortedAt: number | null
  /** Resolves when the exchange is over, whichever side closed it. */
  readonly over: Promise<void>
}

/** Operations resolve to false once nothing more can be sent: the caller disconnected, or the script ended the response. */
export interface Exchange {
  readonly request: ReceivedRequest
  /** Aborted when the exchange is over. */
  readonly signal: AbortSignal
  head(status: number, headers?: Record<string, string>): void
  /** Resolves when the socket has accepted the bytes. */
  write(bytes: string | Buffer): Promise<boolean>
  /** Sends one event with its payload and, if the API format has event names, its name. */
  event(payload: string, name?: string): Promise<boolean>
  /** The bytes of one event. */
  frame(payload: string, name?: string): string
  /** Ends the response normally. */
  end(): Promise<void>
  /** Destroys the connection. */
  reset(): void
  pause(ms: number): Promise<boolean>
}

export type Script = (exchange: Exchange) => Promise<unknown>

/** Whether the request asks for a stream, in OpenAI's, Anthropic's or Gemini's format. */
export function isStreamingRequest(request: ReceivedRequest): boolean {
  return request.json['stream'] === true || request.path.includes(':streamGenerateContent')
}

/** The model that a request names in its body or, for Gemini and Bedrock, in its path. */
export function requestedModel(request: ReceivedRequest): string {
  const named = request.json['model']
  if (typeof named === 'string') return named
  return decodeURIComponent(/\/models?\/([^/:?]+)/.exec(request.path)?.[1] ?? '')
}

/** Reads a request to its end. Rejects if the caller disconnects while sending. */
export async function readRequest(request: IncomingMessage, over: Promise<void>): Promise<ReceivedRequest> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const text = Buffer.concat(parts).toString()
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    text,
    json: parseObject(text),
    at: performance.now(),
    bytesSent: 0,
    finished: false,
    wasReset: false,
    abortedAt: null,
    over,
  }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** An exchange over a response of node:http. */
export function createExchange(
  request: ReceivedRequest,
  response: ServerResponse,
  signal: AbortSignal,
): Exchange {
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
        const onAbort = () => resolve(false)
        signal.addEventListener('abort', onAbort, { once: true })
        response.write(bytes, (error) => {
          signal.removeEventListener('abort', onAbort)
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
      await scriptedDelay(ms, signal)
      return !signal.aborted
    },
  }
}
