/** Schemas that several endpoints share: money and times in JSON, pages, limits, caps. */
import { z } from 'zod'
import { requestOperationNames } from '../../catalog/operations.ts'

/** Exact, in the platform's currency. */
export const money = z
  .string()
  .max(64)
  .meta({ description: 'An amount as a decimal string.', example: '0.002' })
export const time = z.string().meta({ description: 'RFC 3339.', example: '2026-11-21T08:00:00.000Z' })
export const timeInput = z.iso.datetime({
  offset: true,
  error: 'must be a time such as "2026-11-21T08:00:00Z"',
})
export const language = z.enum(['en', 'zh-CN'])
export type Language = z.infer<typeof language>
/** An e-mail address as typed; the server validates it. */
export const emailInput = z.string().max(300)
export const passwordInput = z.string().max(1000)

export const outcome = z.enum(['ok', 'refused', 'failed', 'truncated', 'aborted', 'ended'])
export type Outcome = z.infer<typeof outcome>
/** What a request asked for. */
export const operation = z.enum(requestOperationNames)

/** Query fields of a list that comes in pages. */
export const pageFields = {
  limit: z.coerce.number().int().min(1).max(200).default(50),
  /** `next` of the previous page. */
  cursor: z.string().max(300).optional(),
}

/** `next` is null on the last page. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), next: z.string().nullable() })
}

export const done = z.object({ done: z.literal(true) })

/** The same schema for each kind of limit. */
export function perLimit<Schema>(schema: Schema) {
  return { rpm: schema, tpm: schema, rpd: schema, concurrency: schema }
}

/** null: unlimited. */
export const limits = z.object(perLimit(z.int().nullable()))
const limitInput = z.int().min(0).nullish()
/** An omitted field is unchanged, null removes it. */
export const limitsInput = z.strictObject(perLimit(limitInput))

/** null: no cap. */
export const caps = z.object({ daily: money.nullable(), monthly: money.nullable() })
/** An omitted field is unchanged, null removes it. */
export const capsInput = z.strictObject({ daily: money.nullish(), monthly: money.nullish() })

/** Sums of requests. `errors` counts rejected, failed and truncated requests and those that the relay ended. */
export const sums = z.object({
  requests: z.int(),
  errors: z.int(),
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  cost: money,
})
export type Sums = z.infer<typeof sums>
