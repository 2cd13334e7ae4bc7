/**
 * A raw TCP upstream that responds to attackers' requests with hostile bytes, and to all others with the text of their
 * last message, on the same connections.
 */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'

import { onRequest } from '../../../src/lib/http-client/http-client.fixture.ts'
import { attackText } from '../client/victim.ts'

/** What a caller receives: a complete response, a stream that ends with an error, or 503. */
export type Outcome = 'complete' | 'truncated' | 'unavailable'

/** One way of an upstream to respond. */
export interface HostileMode {
  readonly name: string
  /** What the caller receives without and with `stream`. */
  readonly expected: readonly [response: Outcome, stream: Outcome]
  respond(socket: Socket, isStream: boolean): void
  /** After the caller has received its response, and before the next request. */
  afterwards?(socket: Socket): Promise<unknown>
  /** Responds to the first bytes of a request, and reads no more of it. */
  readonly isEarly?: boolean
  /** The response never ends: callers wait for a timeout. */
  readonly isSilent?: boolean
}

/** The attackers' model. Requests for all other models are answered honestly. */
export const hostileModel = 'hostile'

export class HostileUpstream {
  /** The current mode. */
  mode: HostileMode | null = null
  /** The hostile responses so far. */
  responses = 0
  readonly #server: Server = createServer({ noDelay: true }, (socket) => this.#serve(socket))
  readonly #sockets = new Set<Socket>()
  #attacked: Socket | null = null

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  /** The base URL for an OpenAI client. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  /** Does what the mode does after its response. */
  async finish(): Promise<void> {
    if (this.#attacked) await this.mode?.afterwards?.(this.#attacked)
    this.#attacked = null
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {})
    let isAnswered = false
    socket.on('data', (bytes: Buffer) => {
      if (this.mode?.isEarly !== true || isAnswered || !bytes.includes(`"model":"${hostileModel}"`)) return
      isAnswered = true
      socket.pause()
      this.#attack(socket, this.mode, bytes.includes('"stream":true'))
    })
    onRequest(socket, ({ body }) => {
      const request = JSON.parse(body.toString()) as HonestRequest
      const isStream = request.stream === true
      if (request.model !== hostileModel)
        socket.write(completeResponse(request.messages.at(-1)?.content ?? '', isStream))
      else if (this.mode && !isAnswered) this.#attack(socket, this.mode, isStream)
    })
  }

  #attack(socket: Socket, mode: HostileMode, isStream: boolean): void {
    this.responses += 1
    this.#attacked = socket
    mode.respond(socket, isStream)
  }
}

interface HonestRequest {
  readonly model: string
  readonly stream?: boolean
  readonly messages: readonly { readonly content: string }[]
}

/** A chunk of a stream as an event. `more`: further fields. */
export function chunkEvent(delta: object, finish: string | null = null, more: object = {}): string {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`
}

/** The body of a complete response in the OpenAI format, or its stream. `last`: fields of its last part. */
export function completeBody(text: string, isStream: boolean, last: object = {}): string {
  if (isStream) {
    const start = chunkEvent({ role: 'assistant', content: '' })
    return `${start}${chunkEvent({ content: text })}${chunkEvent({}, 'stop', last)}data: [DONE]\n\n`
  }
  const choices = [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }]
  const usage = { prompt_tokens: 3, completion_tokens: 2 }
  return JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices,
    usage,
    ...last,
  })
}

/** The head of a response of status 200 with these further header lines. */
export function responseHead(isStream: boolean, lines = ''): string {
  const type = isStream ? 'text/event-stream' : 'application/json'
  return `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n${lines}\r\n`
}

export function completeResponse(text: string, isStream: boolean): string {
  return withLength(completeBody(text, isStream), isStream)
}

/** A response with this body, in Latin-1, and its length. */
export function withLength(body: string, isStream: boolean): string {
  return responseHead(isStream, `Content-Length: ${body.length}\r\n`) + body
}

export const attackResponse = (isStream: boolean): string => completeResponse(attackText, isStream)
export const attackBody = (isStream: boolean): string => completeBody(attackText, isStream)
