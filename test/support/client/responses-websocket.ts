/** A client of WebSocket mode of the Responses API. It reads every frame, and checks the numbers of each response. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { text as readText } from 'node:stream/consumers'

import { WebSocket, type ClientOptions } from 'ws'

import type { ErrorBody } from './responses.ts'
import { assembleResponse, type ResponseObject, type ResponsesEvent } from './responses-api.ts'

/** An event of a response, or an error of the connection or of a frame. */
export interface Frame {
  type: string
  sequence_number?: number
  response?: ResponseObject
  stream_id?: string
  status?: number
  headers?: Record<string, string>
  error?: ErrorBody
}

const lastTypes = new Set(['response.completed', 'response.incomplete', 'response.failed'])

export class ResponsesSocket {
  readonly webSocket: WebSocket
  readonly #frames: Frame[] = []
  #onFrame: (() => void) | null = null
  /** The code with which the connection was closed. */
  readonly closed: Promise<number>

  private constructor(webSocket: WebSocket) {
    this.webSocket = webSocket
    const { promise, resolve } = Promise.withResolvers<number>()
    this.closed = promise
    webSocket.on('message', (data: Buffer, isBinary) => {
      assert.equal(isBinary, false)
      this.#frames.push(JSON.parse(data.toString()) as Frame)
      this.#onFrame?.()
    })
    webSocket.on('close', (code) => {
      resolve(code)
      this.#onFrame?.()
    })
    // The end is what a test checks, if it expects one.
    webSocket.on('error', () => {})
  }

  /** Opens a connection with this key. */
  static async open(url: string, secret: string, options: ClientOptions = {}): Promise<ResponsesSocket> {
    const webSocket = connect(url, { authorization: `Bearer ${secret}` }, options)
    const socket = new ResponsesSocket(webSocket)
    await once(webSocket, 'open')
    return socket
  }

  /** Sends a frame that creates a response. */
  create(fields: object): void {
    this.send(JSON.stringify({ type: 'response.create', ...fields }))
  }

  send(data: string | Buffer): void {
    this.webSocket.send(data)
  }

  /** The next frame. Fails if the connection is closed before. */
  async next(): Promise<Frame> {
    for (;;) {
      const frame = this.#frames.shift()
      if (frame) return frame
      assert.equal(this.webSocket.readyState, WebSocket.OPEN, 'closed before the next frame')
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#onFrame = resolve
      await promise
    }
  }

  /** The frames of a response up to its last one, or one error that is no event. */
  async frames(): Promise<Frame[]> {
    const frames: Frame[] = []
    for (;;) {
      const frame = await this.next()
      frames.push(frame)
      if (frame.status !== undefined) return frames
      assert.equal(frame.sequence_number, frames.length - 1, 'a number is missing')
      if (lastTypes.has(frame.type)) return frames
    }
  }

  /** The last frame of the response that is running. */
  async last(): Promise<Frame> {
    for (;;) {
      const frame = await this.next()
      if (lastTypes.has(frame.type)) return frame
    }
  }

  /** Creates a response, which must be complete. */
  async respond(fields: object): Promise<ResponseObject> {
    this.create(fields)
    const frames = await this.frames()
    assert.equal(frames.at(-1)?.error, undefined, JSON.stringify(frames.at(-1)))
    return assembleResponse(frames as ResponsesEvent[])
  }

  /** Creates a response that fails before its first event. */
  async fail(fields: object): Promise<Frame & { error: ErrorBody }> {
    this.create(fields)
    return this.error()
  }

  /** The next frame, which must be an error. */
  async error(): Promise<Frame & { error: ErrorBody }> {
    const frame = await this.next()
    const { type, error, status } = frame
    assert.equal(type, 'error', JSON.stringify(frame))
    assert.ok(error && status !== undefined)
    assert.deepEqual(Object.keys(error).toSorted(), ['code', 'message', 'param', 'type'])
    return { ...frame, error }
  }

  async close(): Promise<void> {
    this.webSocket.close()
    await this.closed
  }
}

function connect(url: string, headers: Record<string, string>, options: ClientOptions): WebSocket {
  return new WebSocket(`${url.replace(/^http/, 'ws')}/v1/responses`, { headers, ...options })
}

/** The response to a handshake that is rejected. */
export async function rejectedHandshake(
  url: string,
  headers: Record<string, string>,
): Promise<{ status: number; error: ErrorBody }> {
  const webSocket = connect(url, headers, {})
  webSocket.on('error', () => {})
  const [, response] = (await once(webSocket, 'unexpected-response')) as [unknown, IncomingMessage]
  assert.match(String(response.headers['x-request-id']), /^req_\w+$/)
  const { error } = JSON.parse(await readText(response)) as { error: ErrorBody }
  webSocket.terminate()
  return { status: response.statusCode ?? 0, error }
}
