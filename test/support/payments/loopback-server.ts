/** An HTTP server of a scripted provider, on a free port of this machine. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export class LoopbackServer implements AsyncDisposable {
  readonly #server: Server

  constructor(serve: RequestListener) {
    this.#server = createServer(serve)
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  /** Without a slash at its end. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
