/**
 * The reports that circuit breakers take from those who call upstreams (worker threads and, in a cluster, other nodes),
 * and the changes that they publish.
 */
import type { Circuit } from './circuit.ts'

/** The keys of the circuits that a call depends on. */
export interface CircuitKeys {
  /** A model at an upstream. */
  readonly route: string
  /** A credential, for all models. */
  readonly credential: string
  /** A credential for this model. */
  readonly credentialForModel: string
}

/** `upstream` and `credential` are names that change with the upstream's address or the credential's secret. */
export function circuitKeysOf(upstream: string, credential: string, model: string): CircuitKeys {
  return {
    route: `${upstream} ${model}`,
    credential,
    credentialForModel: `${credential} ${model}`,
  }
}

/** The upstream in the key of a route's circuit. */
export function upstreamOf(route: string): string {
  return route.slice(0, route.indexOf(' '))
}

/** The circuit that a failure counts against. */
export type FailureScope = keyof CircuitKeys

/** Successful responses of a route, counted together, so that a success costs only its count. */
export interface SuccessCount {
  readonly route: string
  readonly answered: number
  /** The sum over all of them. */
  readonly latencyMs: number
}

/** A response that may close circuits. */
export interface SuccessReport {
  readonly circuits: CircuitKeys
  readonly startedAt: number
}

export interface FailureReport {
  readonly circuits: CircuitKeys
  /**
   * The circuit of a credential opens at the first failure, that of a route after several. `null`: counts against no
   * circuit, and a probe has no result.
   */
  readonly scope: FailureScope | null
  /** The upstream's `Retry-After`; `null` if it sent none. */
  readonly retryAfterMs: number | null
  readonly startedAt: number
  readonly why: string
}

/** The new state of a circuit. */
export interface CircuitChange {
  readonly key: string
  readonly circuit: Circuit
}
