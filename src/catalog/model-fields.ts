/**
 * The fields of a model, and its limits. They apply to each account that calls it, in addition to those of the account
 * and the key.
 */
import type { ModelsTable } from '../db/schema/schema.ts'
import { invalidField } from '../errors.ts'
import type { ModelOperation } from './operations.ts'
import { parseTimeouts, type Timeouts } from './timeouts.ts'

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
    throw invalidField(`limits.${name}`, 'must be a non-negative integer or null')
  }
  return JSON.stringify(patch, [...limitNames])
}

/** What a new row stores. */
export function initialLimitsJson(limits: ModelLimitsPatch | null | undefined): string {
  return JSON.stringify(
    JSON.parse(limitsPatchJson(limits ?? {}), (_name, value: unknown) => value ?? undefined),
  )
}

/** What a model's row says about it. */
export interface ModelFields {
  readonly id: string
  readonly contextTokens: number
  readonly maxOutputTokens: number | null
  /** The model reasons without showing it: the stream does not contain the reasoning tokens that it bills. */
  readonly hiddenReasoning: boolean
  readonly ownedBy: string
  readonly listed: boolean
  readonly createdAt: number
  /** Per account that calls the model. null: no limits of its own. */
  readonly limits: ModelLimits | null
  /** Those of its own; where an upstream's is shorter, that one applies. */
  readonly timeouts: Timeouts
  readonly operations: readonly ModelOperation[]
}

export function modelFields(row: ModelsTable): ModelFields {
  return {
    id: row.id,
    contextTokens: row.context_tokens,
    maxOutputTokens: row.max_output_tokens,
    hiddenReasoning: row.hidden_reasoning === 1,
    ownedBy: row.owned_by,
    listed: row.listed === 1,
    createdAt: row.created_at,
    limits: parseModelLimits(row.limits),
    timeouts: parseTimeouts(row.timeouts),
    operations: JSON.parse(row.operations) as ModelOperation[],
  }
}
