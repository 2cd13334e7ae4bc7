/**
 * What goes in and out of the room: observations in, states out. Whoever calls upstreams (a worker thread; in a
 * cluster, another node) tells what it saw, and hears which circuits are not closed.
 */
import type { Circuit } from './circuit.ts'

/** The circuits that one call depends on, by their keys. */
export interface Circuits {
  /** An upstream's model. */
  readonly place: string
  /** A credential, for any model. */
  readonly credential: string
  /** A credential for this model. */
  readonly credentialForModel: string
}

/** `upstream` and `credential` name what is called, and change when its address or its secret does. */
export function circuitsOf(upstream: string, credential: string, model: string): Circuits {
  return {
    place: `${upstream} ${model}`,
    credential,
    credentialForModel: `${credential} ${model}`,
  }
}

/** Which circuit a fault speaks against. */
export type Blame = keyof Circuits

/** Answers of one place, counted together: a plain success costs its counting and nothing else. */
export interface AnsweredCount {
  readonly place: string
  readonly answered: number
  /** Of all of them together. */
  readonly latencyMs: number
}

/** An answer that may close circuits. */
export interface AnsweredReport {
  readonly circuits: Circuits
  readonly startedAt: number
}

export interface FaultReport {
  readonly circuits: Circuits
  /**
   * A credential's rests at the first fault, an upstream's after several. `null`: nobody is to blame, or the caller,
   * and a probe has told nothing.
   */
  readonly blame: Blame | null
  /** How long the upstream asks to be left alone; `null` when it does not say. */
  readonly restMs: number | null
  readonly startedAt: number
  readonly why: string
}

/** A circuit as it is now, for those who follow. */
export interface CircuitNews {
  readonly key: string
  readonly circuit: Circuit
}
