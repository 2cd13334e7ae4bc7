/** Why a request could not be sent, or its answer not received, as a fault of the upstream. */
import type { ConnectionFailure } from '../lib/http-client/http-client.ts'
import { Inexpressible } from '../providers/provider.ts'
import { fault, type Fault } from './routing/upstream-error.ts'

/** The connection did not carry the exchange. */
export function faultOfFailure(failure: ConnectionFailure): Fault {
  switch (failure.kind) {
    case 'forbidden_address':
      return fault('forbidden', 'The address of the upstream is not allowed.')
    case 'timeout':
      return fault('timeout', 'The upstream could not be reached in time.')
    case 'malformed':
      return fault('garbage', 'The upstream did not answer in HTTP.')
    case 'proxy':
      return fault('connection', `The way to the upstream is closed: ${failure.message}.`)
    default:
      return fault('connection', `The connection to the upstream failed (${failure.kind}).`)
  }
}

/** The request could not be phrased or addressed. */
export function faultOfSending(error: unknown): Fault {
  if (error instanceof CallFailed) return error.fault
  if (error instanceof Inexpressible) {
    return { ...fault('unsupported', error.message, 400), param: error.param }
  }
  // An address or a credential that cannot be sent: the upstream is set up wrongly.
  return fault('forbidden', error instanceof Error ? error.message : 'The request could not be phrased.')
}

/** A call that had to come first, such as signing in, brought nothing. */
export class CallFailed extends Error {
  readonly fault: Fault

  constructor(found: Fault) {
    super(found.message)
    this.name = 'CallFailed'
    this.fault = found
  }
}
