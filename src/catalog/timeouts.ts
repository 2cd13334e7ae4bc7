/** The timeouts of upstreams and models: their validation, their columns and their defaults. */

import { sql as fragment, type RawBuilder } from 'kysely'
import { patchJson } from '../db/audit-changes.ts'
import { invalidField } from '../errors.ts'

const timeoutNames = ['connectMs', 'firstTokenMs', 'idleMs', 'answerMs'] as const
type TimeoutName = (typeof timeoutNames)[number]

/** In milliseconds; only those that are set. */
export type Timeouts = { readonly [Name in TimeoutName]?: number }
/** Omitted timeouts stay unchanged, null removes one. */
export type TimeoutsPatch = { readonly [Name in TimeoutName]?: number | null }

/**
 * First-token and idle timeouts apply to streams; the answer timeout applies to non-streaming responses,
 * until their headers.
 */
export const defaultTimeouts: Required<Timeouts> = {
  connectMs: 5_000,
  firstTokenMs: 120_000,
  idleMs: 120_000,
  answerMs: 600_000,
}

const timeoutParams = {
  connectMs: 'timeouts.connect_ms',
  firstTokenMs: 'timeouts.first_token_ms',
  idleMs: 'timeouts.idle_ms',
  answerMs: 'timeouts.answer_ms',
} as const
const maxTimeoutMs = 3_600_000

export function parseTimeouts(json: string): Timeouts {
  return JSON.parse(json) as Timeouts
}

/** A validated patch as JSON. Throws 400 naming the field. */
export function timeoutsJson(timeouts: TimeoutsPatch): string {
  for (const name of timeoutNames) {
    const value = timeouts[name] ?? 1
    if (Number.isSafeInteger(value) && value >= 1 && value <= maxTimeoutMs) continue
    throw invalidField(timeoutParams[name], `must be an integer from 1 to ${maxTimeoutMs}`)
  }
  return JSON.stringify(timeouts, [...timeoutNames])
}

/** Merges timeouts in the database, where null removes one, so that concurrent patches both take effect. */
export function mergeTimeouts(timeouts: TimeoutsPatch): { timeouts: RawBuilder<string> } {
  return { timeouts: fragment<string>`json_patch(timeouts, ${timeoutsJson(timeouts)})` }
}

/** The timeouts of a new row: those that are set and not null. */
export function initialTimeoutsJson(timeouts: TimeoutsPatch | undefined): string {
  return patchJson('{}', timeoutsJson(timeouts ?? {}))
}

/** Of each timeout the shorter one. */
export function shorterTimeouts(one: Required<Timeouts>, other: Timeouts): Required<Timeouts> {
  const shorter = (name: TimeoutName): number => Math.min(one[name], other[name] ?? one[name])
  return {
    connectMs: shorter('connectMs'),
    firstTokenMs: shorter('firstTokenMs'),
    idleMs: shorter('idleMs'),
    answerMs: shorter('answerMs'),
  }
}
