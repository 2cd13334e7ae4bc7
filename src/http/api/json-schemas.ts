/** Shapes that several calls share: money and times as they travel, pages, limits, caps. */
import { z } from 'zod'

/** A decimal string in the platform's currency, exact: `"0.002"`. */
export const money = z.string().max(64)
/** RFC 3339. */
export const time = z.string()
export const timeIn = z.iso.datetime({
  offset: true,
  error: 'has to be a time such as "2026-11-21T08:00:00Z"',
})
export const language = z.enum(['en', 'zh-CN'])
export type Language = z.infer<typeof language>
/** An e-mail address as it is typed; the server says what is wrong with it. */
export const emailIn = z.string().max(300)
export const passwordIn = z.string().max(1000)

export const outcome = z.enum(['ok', 'refused', 'failed', 'truncated', 'aborted', 'ended'])
export type Outcome = z.infer<typeof outcome>

/** Of a page's query. */
export const pageFields = {
  limit: z.coerce.number().int().min(1).max(200).default(50),
  /** `next` of the page before. */
  cursor: z.string().max(300).optional(),
}

/** `next` is null at the end. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), next: z.string().nullable() })
}

export const done = z.object({ done: z.literal(true) })

/** null is unlimited. */
export const limits = z.object({
  rpm: z.int().nullable(),
  tpm: z.int().nullable(),
  rpd: z.int().nullable(),
  concurrency: z.int().nullable(),
})
const limitIn = z.int().min(0).nullish()
/** Not named stays, null removes. */
export const limitsIn = z.strictObject({ rpm: limitIn, tpm: limitIn, rpd: limitIn, concurrency: limitIn })

/** null is none. */
export const caps = z.object({ daily: money.nullable(), monthly: money.nullable() })
/** Not named stays, null removes. */
export const capsIn = z.strictObject({ daily: money.nullish(), monthly: money.nullish() })

/** Sums of requests; `errors` are those refused, failed or truncated. */
export const sums = z.object({
  requests: z.int(),
  errors: z.int(),
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  cost: money,
})
export type Sums = z.infer<typeof sums>
