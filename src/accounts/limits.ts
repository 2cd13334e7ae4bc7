/**
 * Limits as an operator writes them and as admission needs them. An account's own limit wins over its tier's
 * (null or absent: the tier's; "unlimited": none). A key's own stands beside them (null or absent: none).
 */

import { refuse } from '../errors.ts'

export const limitNames = ['rpm', 'tpm', 'rpd', 'concurrency'] as const
export type LimitName = (typeof limitNames)[number]

/** As stored: only what was set. */
export type OwnLimits = { readonly [Name in LimitName]?: number | 'unlimited' }
/** As patched: not named stays, null removes. */
export type LimitsPatch = { readonly [Name in LimitName]?: number | 'unlimited' | null }
/** As admission needs them: null is unlimited. */
export type Limits = { readonly [Name in LimitName]: number | null }

const limitMax = 1_000_000_000_000

/** Throws 400 naming `limits.<name>` unless it is a whole number from 0, or "unlimited". */
function checkLimit(name: LimitName, value: number | 'unlimited'): void {
  if (value === 'unlimited') return
  if (Number.isSafeInteger(value) && value >= 0 && value <= limitMax) return
  const param = `limits.${name}`
  throw refuse('invalid_request', {
    param,
    message: `${param} has to be a whole number from 0, or "unlimited".`,
  })
}

/**
 * A checked patch as JSON for SQLite's `json_patch`, where null removes (RFC 7396): two patches at once both hold.
 */
export function limitsPatchJson(patch: LimitsPatch): string {
  for (const name of limitNames) {
    const value = patch[name]
    if (value !== undefined && value !== null) checkLimit(name, value)
  }
  return JSON.stringify(patch, [...limitNames])
}

/** What a new row stores. */
export function ownLimits(given: LimitsPatch): OwnLimits {
  return JSON.parse(limitsPatchJson(given), (_name, value: unknown) => value ?? undefined) as OwnLimits
}

export function limitsOf(json: string): OwnLimits {
  return JSON.parse(json) as OwnLimits
}

function effective(own: OwnLimits, fallback: (name: LimitName) => number | null): Limits {
  const one = (name: LimitName): number | null => {
    const value = own[name]
    if (value === undefined) return fallback(name)
    return value === 'unlimited' ? null : value
  }
  return { rpm: one('rpm'), tpm: one('tpm'), rpd: one('rpd'), concurrency: one('concurrency') }
}

export function accountLimits(own: OwnLimits, tier: Limits): Limits {
  return effective(own, (name) => tier[name])
}

export function keyLimits(own: OwnLimits): Limits {
  return effective(own, () => null)
}
