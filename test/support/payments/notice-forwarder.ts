/** The public address of relays whose own are known only later, or that come and go: it forwards what providers send. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { LoopbackServer } from './loopback-server.ts'

/** Of one connection, and not of what it carries. */
const connectionHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'])

export class NoticeForwarder implements AsyncDisposable {
  /** The address of the relay that gets the next request. */
  target: () => string = () => ''
  readonly #server = new LoopbackServer((request, response) => void this.#forward(request, response))

  static async start(): Promise<NoticeForwarder> {
    const forwarder = new NoticeForwarder()
    await forwarder.#server.listen()
    return forwarder
  }

  get url(): string {
    return this.#server.url
  }

  /** A relay that does not respond is 503, as behind any proxy. */
  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = request
    const content = await text(request)
    const passed = Object.entries(headers).filter(([name]) => !connectionHeaders.has(name))
    try {
      const relayed = await fetch(`${this.target()}${url}`, {
        method,
        headers: passed.map(([name, value]) => [name, String(value)]),
        body: method === 'GET' ? null : content,
      })
      response.writeHead(relayed.status).end(await relayed.text())
    } catch {
      response.writeHead(503).end()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
  }
}
