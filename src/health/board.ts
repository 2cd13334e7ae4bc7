/**
 * All circuits of a node, with what has happened to them lately. It lives where the authority does: workers tell it
 * what they saw, and it tells them, at once, each circuit that opens, is probed or closes. One that nobody has said
 * anything bad of is closed and takes no room.
 */
import { afterEvent, healthy, isDue, type Circuit, type CircuitEvent } from './circuit.ts'
import type {
  AnsweredCount,
  AnsweredReport,
  Blame,
  CircuitNews,
  Circuits,
  FaultReport,
} from './observation.ts'
import { Recent, type Lately } from './recent-calls.ts'

export interface BoardParts {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** From 0 to below 1. */
  readonly chance: () => number
}

/** Hears of every circuit whose state changes. */
export type CircuitListener = (news: CircuitNews, before: Circuit) => void

/** With fewer calls in the last minute a share says little. */
const leastForShare = 20
const mostlyFailing = 0.5
/** A circuit that nothing has happened to for this long is forgotten. */
const forgetAfterMs = 86_400_000

const blames: readonly Blame[] = ['place', 'credential', 'credentialForModel']

export class HealthBoard {
  readonly #parts: BoardParts
  readonly #circuits = new Map<string, Circuit>()
  readonly #recent = new Map<string, Recent>()
  /** When other nodes said that they had heard of a place. */
  readonly #elsewhere = new Map<string, number>()
  readonly #listeners: CircuitListener[] = []
  /** Attempts since the beginning. */
  readonly totals = { answered: 0, failed: 0 }

  constructor(parts: BoardParts) {
    this.#parts = parts
  }

  /** Told of every change of a state, in order. */
  listen(listener: CircuitListener): void {
    this.#listeners.push(listener)
  }

  /** Answers that were complete, counted where they came. */
  count(counts: readonly AnsweredCount[]): void {
    const now = this.#parts.now()
    for (const { place, answered, latencyMs } of counts) {
      this.totals.answered += answered
      this.#recentOf(place).answered(answered, latencyMs, now)
      const circuit = this.#circuits.get(place)
      if (circuit?.state === 'closed' && circuit.strikes > 0) this.#put(place, { ...circuit, strikes: 0 })
    }
  }

  /** An answer where something was not closed: what it went through works again. */
  answered({ circuits, startedAt }: AnsweredReport): void {
    for (const blame of blames) this.#apply(circuits[blame], { kind: 'answered', startedAt })
  }

  failed(report: FaultReport): void {
    const { circuits, blame, restMs, startedAt, why } = report
    if (blame !== null) {
      const now = this.#parts.now()
      this.totals.failed += 1
      const recent = this.#recentOf(circuits.place)
      recent.failed(now)
      const { answered, failed, errorRate } = recent.at(now)
      const isMostlyFailing =
        blame === 'place' && answered + failed >= leastForShare && (errorRate ?? 0) >= mostlyFailing
      this.#apply(circuits[blame], {
        kind: 'failed',
        isCertain: blame !== 'place',
        restMs,
        startedAt,
        why,
        isMostlyFailing,
      })
    }
    for (const other of blames) {
      const circuit = this.#circuits.get(circuits[other])
      // Only who asked later than the probe was given can have been the probe.
      if (other !== blame && circuit?.state === 'half-open' && startedAt >= circuit.since) {
        this.#apply(circuits[other], { kind: 'given up' })
      }
    }
  }

  /** Makes the one who asks the probe of all these circuits, or says no: another one is, or they still rest. */
  probe(keys: readonly string[]): boolean {
    const now = this.#parts.now()
    for (const key of keys) {
      const circuit = this.#circuits.get(key) ?? healthy
      if (circuit.state !== 'closed' && !isDue(circuit, now)) return false
    }
    for (const key of keys) this.#apply(key, { kind: 'probed' })
    return true
  }

  /** Takes over what another node has found out, where it is newer. */
  adopt(news: readonly CircuitNews[]): void {
    for (const { key, circuit } of news) {
      if (circuit.since > this.at(key).since) this.#put(key, circuit)
    }
  }

  at(key: string): Circuit {
    return this.#circuits.get(key) ?? healthy
  }

  lately(place: string): Lately {
    return (this.#recent.get(place) ?? new Recent()).at(this.#parts.now())
  }

  /** When a place was last heard of here; 0: never, or long ago. */
  heardAt(place: string): number {
    return this.#recent.get(place)?.heardAt ?? 0
  }

  /** Another node has just heard of a place. */
  usedElsewhere(place: string): void {
    this.#elsewhere.set(place, this.#parts.now())
  }

  /** When any node last heard of a place, as far as this one knows. */
  usedAt(place: string): number {
    return Math.max(this.heardAt(place), this.#elsewhere.get(place) ?? 0)
  }

  /** Every circuit that anything is known of, closed ones included. */
  known(): CircuitNews[] {
    return Array.from(this.#circuits, ([key, circuit]) => ({ key, circuit })).filter(
      ({ circuit }) => circuit.since > 0,
    )
  }

  /** Every circuit that is not closed. */
  states(): CircuitNews[] {
    return [...this.#circuits].flatMap(([key, circuit]) =>
      circuit.state === 'closed' ? [] : [{ key, circuit }],
    )
  }

  /** What went through these circuits lately. */
  statesOf(circuits: Circuits): Readonly<Record<Blame, Circuit>> {
    return {
      place: this.at(circuits.place),
      credential: this.at(circuits.credential),
      credentialForModel: this.at(circuits.credentialForModel),
    }
  }

  /** Forgets what has been quiet for long: places of upstreams that are no more, above all. */
  sweep(): void {
    const before = this.#parts.now() - forgetAfterMs
    for (const [key, { state, strikes, since, until }] of this.#circuits) {
      if (since >= before || until >= before || strikes > 0) continue
      this.#circuits.delete(key)
      if (state !== 'closed') this.#tell({ key, circuit: healthy }, healthy)
    }
    for (const [key, { heardAt }] of this.#recent) if (heardAt < before) this.#recent.delete(key)
    for (const [key, at] of this.#elsewhere) if (at < before) this.#elsewhere.delete(key)
  }

  #recentOf(place: string): Recent {
    const known = this.#recent.get(place)
    if (known) return known
    const recent = new Recent()
    this.#recent.set(place, recent)
    return recent
  }

  #apply(key: string, event: CircuitEvent): void {
    const before = this.at(key)
    const moment = { now: this.#parts.now(), chance: this.#parts.chance() }
    const circuit = afterEvent(before, event, moment)
    if (circuit === before) return
    if (circuit.state === 'closed' && before.state !== 'closed') this.#recent.get(key)?.forget()
    this.#put(key, circuit)
  }

  #put(key: string, circuit: Circuit): void {
    const before = this.at(key)
    this.#circuits.set(key, circuit)
    if (circuit.state === before.state && circuit.until === before.until) return
    this.#tell({ key, circuit }, before)
  }

  #tell(news: CircuitNews, before: Circuit): void {
    for (const listener of this.#listeners) listener(news, before)
  }
}
