/**
 * The circuit of a circuit breaker, as a pure state machine, for something that calls depend on: a route, a credential,
 * or a credential for one model. A closed circuit is used. An open one cools down, longer each time; then one probe, a
 * caller's request or a health check, decides whether it closes. Events bring the time and randomness.
 *
 * Nodes of a cluster send circuits to each other as JSON: field names are stable.
 */

export type CircuitState = 'closed' | 'open' | 'half-open'

export interface Circuit {
  readonly state: CircuitState
  /** When it entered this state; milliseconds since the epoch, as all times here. */
  readonly since: number
  /** When it was last closed; 0 while it is closed. */
  readonly openedAt: number
  /** Consecutive failures while closed. */
  readonly strikes: number
  /** How often it has opened in succession; the cooldown grows with it. */
  readonly openings: number
  /** Open: the end of the cooldown. Half-open: when another probe may start, if the first never reports. */
  readonly until: number
  /** Why it is not closed; empty if it is. */
  readonly why: string
}

export type CircuitEvent =
  /** A response was complete. */
  | { readonly kind: 'succeeded'; readonly startedAt: number }
  | {
      readonly kind: 'failed'
      readonly startedAt: number
      /** A single such failure opens the circuit. */
      readonly isConclusive: boolean
      /** Most of the recent calls failed. */
      readonly isFailureRateHigh: boolean
      /** The upstream's `Retry-After`; `null` if it sent none. */
      readonly retryAfterMs: number | null
      readonly why: string
    }
  /** A probe starts. */
  | { readonly kind: 'probe-started' }
  /** The probe ended without a result. */
  | { readonly kind: 'probe-abandoned' }

/** The time of an event, and a random number from 0 to less than 1. */
export interface Moment {
  readonly now: number
  readonly random: number
}

/** This many consecutive failures open a circuit. */
const maxConsecutiveFailures = 5
const initialCooldownMs = 1000
/** Short enough that a recovered upstream gets its share of requests again well within a minute. */
const maxCooldownMs = 20_000
/** An upstream's `Retry-After` counts up to this. */
const maxRetryAfterMs = 3_600_000
/** A circuit that opens again this soon after closing had not recovered, so its cooldown keeps growing. */
const relapseWindowMs = 60_000
/** A probe without a result by then no longer blocks another one. */
const probeTimeoutMs = 30_000

export const closedCircuit: Circuit = {
  state: 'closed',
  since: 0,
  openedAt: 0,
  strikes: 0,
  openings: 0,
  until: 0,
  why: '',
}

/** Doubles with each opening. A fifth of it is random jitter, so that nodes do not retry at the same time. */
export function cooldownMs(openings: number, random: number): number {
  const fullMs = Math.min(maxCooldownMs, initialCooldownMs * 2 ** (openings - 1))
  return Math.round(fullMs * (0.8 + 0.2 * random))
}

/** May a probe start now? */
export function isProbeDue({ state, until }: Circuit, now: number): boolean {
  return state !== 'closed' && until <= now
}

/** The circuit after an event; the same object if nothing changed. */
export function applyEvent(circuit: Circuit, event: CircuitEvent, moment: Moment): Circuit {
  switch (event.kind) {
    case 'succeeded':
      return applySuccess(circuit, event.startedAt, moment.now)
    case 'failed':
      return applyFailure(circuit, event, moment)
    case 'probe-started':
      if (!isProbeDue(circuit, moment.now)) return circuit
      return { ...circuit, state: 'half-open', since: moment.now, until: moment.now + probeTimeoutMs }
    case 'probe-abandoned':
      if (circuit.state !== 'half-open') return circuit
      return { ...circuit, state: 'open', since: moment.now, until: moment.now }
  }
}

/** A response to a call that started before the circuit opened says nothing about its state now. */
function applySuccess(circuit: Circuit, startedAt: number, now: number): Circuit {
  const { state, strikes, since } = circuit
  if (state === 'closed') return strikes === 0 ? circuit : { ...circuit, strikes: 0 }
  if (startedAt < since) return circuit
  return { ...circuit, state: 'closed', since: now, openedAt: 0, strikes: 0, until: 0, why: '' }
}

type FailureEvent = Extract<CircuitEvent, { kind: 'failed' }>

function applyFailure(circuit: Circuit, event: FailureEvent, { now, random }: Moment): Circuit {
  const { retryAfterMs, why } = event
  const requestedMs = retryAfterMs === null ? 0 : Math.min(retryAfterMs, maxRetryAfterMs)
  if (circuit.state === 'closed') {
    const strikes = circuit.strikes + 1
    if (strikes < maxConsecutiveFailures && !event.isFailureRateHigh && !event.isConclusive)
      return { ...circuit, strikes }
    const openings = now - circuit.since < relapseWindowMs ? circuit.openings + 1 : 1
    const until = now + Math.max(cooldownMs(openings, random), requestedMs)
    return { state: 'open', since: now, openedAt: now, strikes: 0, openings, until, why }
  }
  // The longest `Retry-After` counts. A call that started before the circuit opened belongs to the same failure.
  const latestUntil = Math.max(circuit.until, now + requestedMs)
  if (event.startedAt < circuit.since) {
    return circuit.state === 'open' && latestUntil > circuit.until
      ? { ...circuit, until: latestUntil }
      : circuit
  }
  if (circuit.state === 'open' && circuit.until > now) return { ...circuit, until: latestUntil, why }
  const openings = circuit.openings + 1
  const until = now + Math.max(cooldownMs(openings, random), requestedMs)
  return { state: 'open', since: now, openedAt: circuit.openedAt, strikes: 0, openings, until, why }
}
