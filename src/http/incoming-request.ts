/**
 * A request that has arrived, as the doors see it: no request object of any HTTP library, so that the layer underneath
 * can be exchanged. Implemented over node:http and by the fast lane.
 */
import type { CallerExchange } from '../relay/exchange.ts'
import type { BodyBudget } from './body.ts'

/** The headers that a door looks at. */
export type HeaderName =
  | 'authorization'
  | 'content-type'
  | 'idempotency-key'
  | 'origin'
  | 'x-forwarded-for'
  | 'x-api-key'
  | 'anthropic-version'
  | 'anthropic-beta'
  | 'cookie'
  | 'host'
  | 'sec-fetch-site'

export interface Arrival {
  readonly method: string
  readonly path: string
  /** With its question mark; empty when there is none. */
  readonly query: string
  /** The address at the other end of the connection. */
  readonly peer: string | undefined
  /** The whole request is here; else an answer has to close the connection. */
  readonly isComplete: boolean
  /** The first header of this name. */
  header(name: HeaderName): string | undefined
  /** The whole body, counted in the budget until released there. Throws 400, 413 or 503. */
  body(budget: BodyBudget): Buffer | Promise<Buffer>
  /** The way back, to be taken once. `common`: headers of every answer, as a flat list. */
  reply(common: readonly string[]): CallerExchange
  /** After an early answer: reads a little on and throws it away, so that the answer arrives, then disconnects. */
  linger(): void
}
