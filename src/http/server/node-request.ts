/** A request over node:http. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ResponseWriter } from '../../relay/response-writer.ts'
import type { IncomingRequest, HeaderName } from '../incoming-request.ts'
import type { BodyBudget } from '../body.ts'
import { readIncoming } from '../body-receiver.ts'
import { relayHeaderPrefix } from '../relay-headers.ts'
import { lingerAndClose } from './lingering-close.ts'
import { NodeResponseWriter } from './node-response-writer.ts'

export class NodeRequest implements IncomingRequest {
  readonly #incoming: IncomingMessage
  readonly #outgoing: ServerResponse
  readonly #isClosing: () => boolean
  readonly method: string
  readonly path: string
  readonly query: string

  /** `isClosing`: the process shuts down. */
  constructor(incoming: IncomingMessage, outgoing: ServerResponse, isClosing: () => boolean) {
    this.#incoming = incoming
    this.#outgoing = outgoing
    this.#isClosing = isClosing
    const { method = 'GET', url = '/' } = incoming
    const queryStart = url.indexOf('?')
    this.method = method
    this.path = queryStart === -1 ? url : url.slice(0, queryStart)
    this.query = queryStart === -1 ? '' : url.slice(queryStart)
  }

  get peer(): string | undefined {
    return this.#incoming.socket.remoteAddress
  }

  get isComplete(): boolean {
    return this.#incoming.complete
  }

  /**
   * Reads the raw list, because parsing all headers costs more than this lookup. Lines with different values are joined
   * to one list (RFC 9110, 5.3), since a proxy may append a line of its own; such a list is no valid single value.
   */
  header(name: HeaderName): string | undefined {
    const { rawHeaders } = this.#incoming
    let value: string | undefined
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const current = rawHeaders[i]
      if (current?.length !== name.length || current.toLowerCase() !== name) continue
      const next = rawHeaders[i + 1]
      value = value === undefined || value === next ? next : `${value}, ${next}`
    }
    return value
  }

  get relayHeaderNames(): string[] {
    return this.#incoming.rawHeaders
      .filter((_, index) => index % 2 === 0)
      .map((name) => name.toLowerCase())
      .filter((name) => name.startsWith(relayHeaderPrefix))
  }

  body(budget: BodyBudget, accountId: string): Promise<Buffer> {
    return readIncoming(this.#incoming, budget, { owner: accountId })
  }

  respond(commonHeaders: readonly string[]): ResponseWriter {
    return new NodeResponseWriter(this.#outgoing, commonHeaders)
  }

  linger(): void {
    lingerAndClose(this.#incoming, this.#isClosing)
  }
}
