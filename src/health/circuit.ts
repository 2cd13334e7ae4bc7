/**
 * A circuit: what is known about something that calls depend on (an upstream's model, a credential, a credential for
 * one model), as a pure state machine. Closed, it is used. Open, it rests, longer each time, and then one probe, a
 * caller's request or a check, decides whether it closes. Neither clock nor chance is in here; events bring both.
 */

export type CircuitState = 'closed' | 'open' | 'half-open'

export interface Circuit {
  readonly state: CircuitState
  /** When it came into this state; milliseconds since the epoch, as all times here. */
  readonly since: number
  /** When it stopped being closed; 0 while it is. */
  readonly openedAt: number
  /** Faults in a row while closed. */
  readonly strikes: number
  /** How often in a row it has opened: the rest grows with it. */
  readonly openings: number
  /** Open: the end of its rest. Half-open: from when another probe may go, should the first never tell. */
  readonly until: number
  /** Why it is not closed, in words; empty when it is. */
  readonly why: string
}

export type CircuitEvent =
  /** An answer came, complete. */
  | { readonly kind: 'answered'; readonly startedAt: number }
  | {
      readonly kind: 'failed'
      readonly startedAt: number
      /** It leaves no doubt: once is enough. */
      readonly isCertain: boolean
      /** Of what was asked lately, more failed than not. */
      readonly isMostlyFailing: boolean
      /** How long the upstream asks to be left alone; `null` when it does not say. */
      readonly restMs: number | null
      readonly why: string
    }
  /** Somebody wants to try. */
  | { readonly kind: 'probed' }
  /** The probe ended without telling anything. */
  | { readonly kind: 'given up' }

/** The moment, and a draw from 0 to below 1. */
export interface Moment {
  readonly now: number
  readonly chance: number
}

/** So many faults in a row open it. */
const mostStrikes = 5
const firstRestMs = 1000
/** Short enough that a healed upstream has its share again well within a minute. */
const longestRestMs = 20_000
/** What an upstream asks for is granted up to this. */
const longestAskedRestMs = 3_600_000
/** Opened again so soon after it had closed, it had not healed, and its rest goes on growing. */
const relapseMs = 60_000
/** A probe that has told nothing by then no longer keeps another from going. */
const probeMs = 30_000

export const healthy: Circuit = {
  state: 'closed',
  since: 0,
  openedAt: 0,
  strikes: 0,
  openings: 0,
  until: 0,
  why: '',
}

/** Doubles with each opening; four fifths of it are sure and the rest is drawn, so that nodes do not return in step. */
export function restOf(openings: number, chance: number): number {
  const whole = Math.min(longestRestMs, firstRestMs * 2 ** (openings - 1))
  return Math.round(whole * (0.8 + 0.2 * chance))
}

/** May one who asks now be the probe? */
export function isDue({ state, until }: Circuit, now: number): boolean {
  return state !== 'closed' && until <= now
}

/** The circuit after an event; the same object when nothing has changed. */
export function afterEvent(circuit: Circuit, event: CircuitEvent, moment: Moment): Circuit {
  switch (event.kind) {
    case 'answered':
      return afterAnswer(circuit, event.startedAt, moment.now)
    case 'failed':
      return afterFault(circuit, event, moment)
    case 'probed':
      if (!isDue(circuit, moment.now)) return circuit
      return { ...circuit, state: 'half-open', since: moment.now, until: moment.now + probeMs }
    case 'given up':
      if (circuit.state !== 'half-open') return circuit
      return { ...circuit, state: 'open', since: moment.now, until: moment.now }
  }
}

/** An answer to what was asked before it opened says nothing about now. */
function afterAnswer(circuit: Circuit, startedAt: number, now: number): Circuit {
  const { state, strikes, since } = circuit
  if (state === 'closed') return strikes === 0 ? circuit : { ...circuit, strikes: 0 }
  if (startedAt < since) return circuit
  return { ...circuit, state: 'closed', since: now, openedAt: 0, strikes: 0, until: 0, why: '' }
}

type Failed = Extract<CircuitEvent, { kind: 'failed' }>

function afterFault(circuit: Circuit, event: Failed, { now, chance }: Moment): Circuit {
  const { restMs, why } = event
  const asked = restMs === null ? 0 : Math.min(restMs, longestAskedRestMs)
  if (circuit.state === 'closed') {
    const strikes = circuit.strikes + 1
    if (strikes < mostStrikes && !event.isMostlyFailing && !event.isCertain) return { ...circuit, strikes }
    const openings = now - circuit.since < relapseMs ? circuit.openings + 1 : 1
    const until = now + Math.max(restOf(openings, chance), asked)
    return { state: 'open', since: now, openedAt: now, strikes: 0, openings, until, why }
  }
  // The longest rest that anybody has asked for holds. What was asked before it opened is part of the same failing.
  const longest = Math.max(circuit.until, now + asked)
  if (event.startedAt < circuit.since) {
    return circuit.state === 'open' && longest > circuit.until ? { ...circuit, until: longest } : circuit
  }
  if (circuit.state === 'open' && circuit.until > now) return { ...circuit, until: longest, why }
  const openings = circuit.openings + 1
  const until = now + Math.max(restOf(openings, chance), asked)
  return { state: 'open', since: now, openedAt: circuit.openedAt, strikes: 0, openings, until, why }
}
