/** A request as the router sees it, independent of any HTTP library. Implemented over node:http and by the fast path. */
import type { Caller } from '../accounts/directory.ts'
import type { RequestContext } from '../relay/request-context.ts'
import type { ResponseWriter } from '../relay/response-writer.ts'
import type { BodyBudget } from './body.ts'

/** The headers that handlers read. */
export type HeaderName =
  | 'access-control-request-headers'
  | 'authorization'
  | 'content-encoding'
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

export interface IncomingRequest {
  readonly method: string
  readonly path: string
  /** With its question mark; empty without a query. */
  readonly query: string
  /** The remote address of the connection. */
  readonly peer: string | undefined
  /** The whole request has been received; if not, a response must close the connection. */
  readonly isComplete: boolean
  /** Opens the WebSocket that the request asks for; absent: it asks for none. Throws 429 if the account has too many. */
  readonly openWebSocket?: (caller: Caller) => void
  /** A request of WebSocket mode that only prepares a conversation: no model is called. */
  readonly isWarmUp?: boolean
  /** The names of its headers `x-sluice-*`, in lower case. */
  readonly relayHeaderNames: readonly string[]
  /** The first header of this name. */
  header(name: HeaderName): string | undefined
  /** The whole body, reserved for the account until the caller releases it. Throws 400, 413, 415, 429 or 503. */
  body(budget: BodyBudget, accountId: string): Buffer | Promise<Buffer>
  /** The writer of the response; called once. `commonHeaders`: headers of every response, as a flat list. */
  respond(commonHeaders: readonly string[]): ResponseWriter
  /** After an early response: half-closes the connection, and gives the caller time to read the response and close it. */
  linger(): void
}

/** The context of a request to the public API. The router creates it, with all fields, and every phase uses the same. */
export interface HttpRequestContext extends RequestContext {
  readonly incoming: IncomingRequest
  /** Without its version: see `endpointPath`. */
  readonly path: string
  /** The caller uses Anthropic's API: errors have its format. */
  readonly isAnthropic: boolean
  /** Empty until it is received. */
  body: Buffer
}

/** The context once the caller is authenticated. */
export interface AuthenticatedContext extends HttpRequestContext {
  readonly caller: Caller
}
