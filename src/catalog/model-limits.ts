/**
 * The limits of a model. They apply to each account that calls it, in addition to those of the account and
 * the key.
 */
import { apiError } from '../errors.ts'

const limitNames = ['rpm', 'tpm', 'rpd', 'concurrency'] as const
type LimitName = (typeof limitNames)[number]

/** null is unlimited. */
export type ModelLimits = { readonly [Each in LimitName]: number | null }
/** Omitted limits stay unchanged, null removes one. */
export type ModelLimitsPatch = { readonly [Each in LimitName]?: number | null }

const maxLimit = 1_000_000_000_000

/** The limits stored in a row. null: none at all. */
export function parseModelLimits(json: string): ModelLimits | null {
  const set = JSON.parse(json) as ModelLimitsPatch
  const [rpm = null, tpm = null, rpd = null, concurrency = null] = limitNames.map((name) => set[name])
  const limits = { rpm, tpm, rpd, concurrency }
  return limitNames.every((name) => limits[name] === null) ? null : limits
}

/**
 * A validated patch as JSON for SQLite's `json_patch`, where null removes a limit, so that concurrent patches
 * both take effect. Throws 400 naming the field.
 */
export function limitsPatchJson(patch: ModelLimitsPatch): string {
  for (const name of limitNames) {
    const value = patch[name] ?? 0
    if (Number.isSafeInteger(value) && value >= 0 && value <= maxLimit) continue
    const param = `limits.${name}`
    throw apiError('invalid_request', {
      param,
      message: `${param} must be a non-negative integer or null.`,
    })
  }
  return JSON.stringify(patch, [...limitNames])
}

/** What a new row stores. */
export function initialLimitsJson(limits: ModelLimitsPatch | null | undefined): string {
  return JSON.stringify(
    JSON.parse(limitsPatchJson(limits ?? {}), (_name, value: unknown) => value ?? undefined),
  )
}
