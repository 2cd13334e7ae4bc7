/** A request over node:http, as the doors see it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CallerExchange } from '../../relay/exchange.ts'
import type { Arrival, HeaderName } from '../incoming-request.ts'
import { lingerAndClose, readBody, type BodyBudget } from '../body.ts'
import { NodeExchange } from './node-response-writer.ts'

export class NodeArrival implements Arrival {
  readonly #incoming: IncomingMessage
  readonly #outgoing: ServerResponse
  readonly method: string
  readonly path: string
  readonly query: string

  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    this.#incoming = incoming
    this.#outgoing = outgoing
    const { method = 'GET', url = '/' } = incoming
    const question = url.indexOf('?')
    this.method = method
    this.path = question === -1 ? url : url.slice(0, question)
    this.query = question === -1 ? '' : url.slice(question)
  }

  get peer(): string | undefined {
    return this.#incoming.socket.remoteAddress
  }

  get isComplete(): boolean {
    return this.#incoming.complete
  }

  /**
   * From the raw list: the parsed one costs more than the whole lookup. Lines that differ count as one list (RFC 9110,
   * 5.3), for a proxy may add a line of its own behind the caller's; what has to be one value is then none.
   */
  header(name: HeaderName): string | undefined {
    const { rawHeaders } = this.#incoming
    let value: string | undefined
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const each = rawHeaders[i]
      if (each?.length !== name.length || each.toLowerCase() !== name) continue
      const next = rawHeaders[i + 1]
      value = value === undefined || value === next ? next : `${value}, ${next}`
    }
    return value
  }

  body(budget: BodyBudget): Promise<Buffer> {
    return readBody(this.#incoming, budget)
  }

  reply(common: readonly string[]): CallerExchange {
    return new NodeExchange(this.#outgoing, common)
  }

  linger(): void {
    lingerAndClose(this.#incoming)
  }
}
