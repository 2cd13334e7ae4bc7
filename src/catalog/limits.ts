/** The limits of a model, for each account that calls it: beside those of the account and of its key. */
import { refuse } from '../errors.ts'

const names = ['rpm', 'tpm', 'rpd', 'concurrency'] as const
type Name = (typeof names)[number]

/** null is unlimited. */
export type ModelLimits = { readonly [Each in Name]: number | null }
/** Not named stays, null removes. */
export type ModelLimitsPatch = { readonly [Each in Name]?: number | null }

const limitMax = 1_000_000_000_000

/** The limits of a row; null: none at all. */
export function limitsOfModel(json: string): ModelLimits | null {
  const set = JSON.parse(json) as ModelLimitsPatch
  const [rpm = null, tpm = null, rpd = null, concurrency = null] = names.map((name) => set[name])
  const limits = { rpm, tpm, rpd, concurrency }
  return names.every((name) => limits[name] === null) ? null : limits
}

/**
 * A checked patch as JSON for SQLite's `json_patch`, where null removes: two patches at once both hold. Refuses with 400
 * naming the field.
 */
export function limitsPatchJson(patch: ModelLimitsPatch): string {
  for (const name of names) {
    const value = patch[name] ?? 0
    if (Number.isSafeInteger(value) && value >= 0 && value <= limitMax) continue
    const param = `limits.${name}`
    throw refuse('invalid_request', { param, message: `${param} has to be a whole number from 0, or null.` })
  }
  return JSON.stringify(patch, [...names])
}

/** What a new row stores. */
export function newLimits(given: ModelLimitsPatch | null | undefined): string {
  return JSON.stringify(
    JSON.parse(limitsPatchJson(given ?? {}), (_name, value: unknown) => value ?? undefined),
  )
}
