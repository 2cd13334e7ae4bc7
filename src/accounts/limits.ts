/**
 * Limits as operators set them and as admission uses them. An account's own limit overrides its tier's (null
 * or absent: the tier's; "unlimited": none). A key's limit applies in addition (null or absent: none).
 */

import { patchJson } from '../db/audit-changes.ts'
import { invalidField } from '../errors.ts'

export const limitNames = ['rpm', 'tpm', 'rpd', 'concurrency'] as const
export type LimitName = (typeof limitNames)[number]

/** As stored: only the limits that were set. */
export type OwnLimits = { readonly [Name in LimitName]?: number | 'unlimited' }
/** As patched: omitted limits stay unchanged, null removes one. */
export type LimitsPatch = { readonly [Name in LimitName]?: number | 'unlimited' | null }
/** As used by admission: null is unlimited. */
export type Limits = { readonly [Name in LimitName]: number | null }

const maxLimit = 1_000_000_000_000

/** Throws 400 naming `limits.<name>` unless the value is a non-negative integer or "unlimited". */
function checkLimit(name: LimitName, value: number | 'unlimited'): void {
  if (value === 'unlimited') return
  if (Number.isSafeInteger(value) && value >= 0 && value <= maxLimit) return
  throw invalidField(`limits.${name}`, 'must be a non-negative integer or "unlimited"')
}

/**
 * A validated patch as JSON for SQLite's `json_patch`, where null removes a limit (RFC 7396), so that
 * concurrent patches both take effect.
 */
export function limitsPatchJson(patch: LimitsPatch): string {
  for (const name of limitNames) {
    const value = patch[name]
    if (value !== undefined && value !== null) checkLimit(name, value)
  }
  return JSON.stringify(patch, [...limitNames])
}

/** The stored limits after a patch. Throws 400 naming the field. */
export function patchLimits(stored: string, patch: LimitsPatch | undefined): string {
  return patch === undefined ? stored : patchJson(stored, limitsPatchJson(patch))
}

/** What a new row stores. */
export function ownLimits(given: LimitsPatch): OwnLimits {
  return JSON.parse(limitsPatchJson(given), (_name, value: unknown) => value ?? undefined) as OwnLimits
}

export function limitsOf(json: string): OwnLimits {
  return JSON.parse(json) as OwnLimits
}

function effectiveLimits(own: OwnLimits, fallback: (name: LimitName) => number | null): Limits {
  const limitFor = (name: LimitName): number | null => {
    const value = own[name]
    if (value === undefined) return fallback(name)
    return value === 'unlimited' ? null : value
  }
  return {
    rpm: limitFor('rpm'),
    tpm: limitFor('tpm'),
    rpd: limitFor('rpd'),
    concurrency: limitFor('concurrency'),
  }
}

export function accountLimits(own: OwnLimits, tier: Limits): Limits {
  return effectiveLimits(own, (name) => tier[name])
}

export function keyLimits(own: OwnLimits): Limits {
  return effectiveLimits(own, () => null)
}
