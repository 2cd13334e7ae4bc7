/** Headers `x-sluice-*` of callers. One that has no effect must not look as if it had. */
import { apiError } from '../errors.ts'
import type { IncomingRequest } from './incoming-request.ts'

export const relayHeaderPrefix = 'x-sluice-'
/** A name may be as long as a head. */
const maxShownName = 100

/** Throws 400 naming a header of this kind, since none exists. Call it for requests that are billed. */
export function requireKnownHeaders({ relayHeaderNames: [name] }: IncomingRequest): void {
  if (name === undefined) return
  const shown = name.slice(0, maxShownName)
  throw apiError('invalid_request', {
    param: shown,
    message: `Unknown header \`${shown}\`: this release has no request headers that begin with \`${relayHeaderPrefix}\`. Remove it.`,
  })
}
