/**
 * Schemas that the endpoints of the admin API share: money, times, prices, caps and limits in JSON. Objects are strict:
 * unknown fields are rejected, not ignored.
 */
import { z } from '@hono/zod-openapi'
import { view } from '../api/define-endpoints.ts'
import type { UpstreamCosts } from '../../catalog/costs.ts'
import { pricesJson, pricesRequired, toDecimalPrices, type PriceInput } from '../../catalog/price-input.ts'
import type { Price } from '../../catalog/prices.ts'
import { apiError } from '../../errors.ts'
import { fieldsOf } from '../../db/row-fields.ts'
import { money, perLimit } from '../api/json-schemas.ts'
import { parseTime } from '../api/json-values.ts'
import { spanInput } from '../api/time-spans.ts'
import type { LimitsPatch } from '../../accounts/limits.ts'

export { money, time } from '../api/json-schemas.ts'
/** The description of a secret or a code that cannot be read later. */
export const returnedOnce =
  'Returned only in this response, and for 24 hours in its replays with the same `Idempotency-Key`.'
const isoTime = z.iso.datetime({ offset: true, error: 'must be a time such as "2026-11-21T08:00:00Z"' })

function toUpperCase(value: unknown): unknown {
  return typeof value === 'string' ? value.toUpperCase() : value
}

/** RFC 3339 allows a lowercase T and Z. */
export const timeInput = z.preprocess(toUpperCase, isoTime)
/** In a URL, an unescaped plus before an offset means a space. */
export const timeQuery = z.preprocess((value) => {
  const time = toUpperCase(value)
  return typeof time === 'string' ? time.replace(/ (?=\d\d:\d\d$)/, '+') : time
}, isoTime)
/** The start of a report, by a time or by a span that ends now. */
export const spanQuery = {
  from: timeQuery.optional(),
  span: spanInput.optional().meta({
    description:
      'Instead of `from`. `24h`: the current hour and the 23 before it. Others: whole days of `TIME_ZONE`, including today.',
  }),
}
const nullableInt = z.int().nullable()

export const capsInput = z.strictObject({ daily: money.nullish(), monthly: money.nullish() })
export const capsSchema = z.object({ daily: money.nullable(), monthly: money.nullable() })

export const spentSchema = z
  .object({ today: money, month: money, total: money })
  .meta({ description: 'In the current day and month of its account, and in total.' })

const limitInput = z
  .union([z.int().min(0), z.literal('unlimited')], {
    error: 'must be a non-negative integer, "unlimited" or null',
  })
  .nullish()
const limitSchema = z.union([z.int(), z.literal('unlimited')]).nullable()

export const limitsInput = z.strictObject(perLimit(limitInput))

/** Converts own limits to a patch; null in place of the object removes all of them. */
export function toLimitsPatch(
  limits: z.infer<typeof limitsInput> | null | undefined,
): LimitsPatch | undefined {
  return limits === null ? { rpm: null, tpm: null, rpd: null, concurrency: null } : limits
}

export const limitsSchema = z.object(perLimit(limitSchema))

export const tierLimitFields = perLimit(nullableInt)

/** The same schema for each timeout. */
export function perTimeout<Schema>(schema: Schema) {
  return { connect_ms: schema, first_token_ms: schema, idle_ms: schema, answer_ms: schema }
}

/** An omitted field is unchanged, null removes it. */
export const timeoutsInput = z.strictObject(perTimeout(z.int().nullish()))

const rateFields = {
  input: money.optional(),
  output: money.optional(),
  cached_input: money.nullish(),
  cache_write: money.nullish(),
  cache_write_1h: money.nullish(),
  reasoning: money.nullish(),
  input_image: money.nullish(),
  input_audio: money.nullish(),
  cached_input_image: money.nullish(),
  cached_input_audio: money.nullish(),
  output_image: money.nullish(),
  output_audio: money.nullish(),
}
/** Only the image tool has classes. */
const toolPrice = z.union([
  money,
  z
    .array(
      z.strictObject({
        quality: z.string().max(64).nullish(),
        size: z.string().max(64).nullish(),
        amount: money,
      }),
    )
    .meta({
      description:
        'Of `image_generation`: the first class whose `quality` and `size` are those of the image; without one, any.',
    }),
])
const priceFields = {
  ...rateFields,
  per_request: money.nullish(),
  per_search: money.nullish(),
  per_tool_call: z.record(z.string(), toolPrice).nullish(),
  above: z.array(z.strictObject({ input_tokens: z.int(), ...rateFields })).nullish(),
  service_tiers: z.record(z.string(), money).nullish(),
  free: z.literal(true).optional(),
}
export const pricesInput = z
  .strictObject({
    ...priceFields,
    effective_from: timeInput
      .optional()
      .meta({ description: 'When the version applies. Absent or past: at once.' }),
  })
  .meta({
    description:
      'Per 1,000 tokens; images and audio as text where they have no price of their own. `per_request`, `per_search` (each web search by the provider) and `per_tool_call` (each call of another tool that the provider runs, by name; of `image_generation`, an amount or a list by quality and size) are amounts per unit. `above`: token prices of requests with more input tokens than `input_tokens`. `service_tiers`: factors on the token prices, such as `{"flex": "0.5"}`; other tiers are rejected. For a free model, only `{"free": true}`.',
  })
export const costsInput = z
  .strictObject({ ...priceFields, currency: z.string().nullish(), rate: z.string().max(64).optional() })
  .meta({
    description:
      'What the provider charges you. `rate` is the price of one unit of `currency` in the platform’s currency.',
  })
export const pricesSchema = z.object(priceFields)
export const costsSchema = pricesSchema.extend({ currency: z.string().nullable(), rate: z.string() })

/** The columns of `prices` in exports. */
export const priceColumns = pricesSchema.keyof().options.map((name) => `prices.${name}` as const)

/** Throws 400 with `param` unless exactly one of prices and `free` is given. */
export function toPriceInput(input: z.infer<typeof pricesInput>, param = 'prices'): PriceInput {
  const { free, effective_from: from, ...prices } = input
  const effectiveFrom = from === undefined ? undefined : parseTime(from)
  const isPriced = Object.values(prices).some((value) => value !== undefined)
  if (free === true && isPriced) {
    throw apiError('invalid_request', {
      param,
      message: `Invalid \`${param}\`: cannot be combined with "free".`,
    })
  }
  if (free === true) return { free, effectiveFrom }
  if (!isPriced) throw pricesRequired(param)
  const { service_tiers: serviceTiers, per_tool_call: perToolCall, above, ...rest } = prices
  return {
    ...toRates(rest, param),
    serviceTiers,
    perToolCall,
    above: above?.map(({ input_tokens: inputTokens, ...rates }, index) => ({
      inputTokens,
      ...toRates(rates, `${param}.above[${index}]`),
    })),
    effectiveFrom,
  }
}

function toRates<Rates extends { readonly input?: string | undefined; readonly output?: string | undefined }>(
  input: Rates,
  param: string,
) {
  return {
    ...fieldsOf(input),
    input: requirePrice(input.input, `${param}.input`),
    output: requirePrice(input.output, `${param}.output`),
  }
}

function requirePrice(price: string | undefined, param: string): string {
  if (price !== undefined) return price
  throw apiError('invalid_request', { param, message: `Missing required field: ${param}.` })
}

export function serializePrice(price: Price): z.infer<typeof pricesSchema> {
  return pricesJson(toDecimalPrices(price))
}

/** Throws 400 naming the field below `param`. */
export function toUpstreamCosts(input: z.infer<typeof costsInput>, param = 'prices'): UpstreamCosts {
  const { currency, rate, ...prices } = input
  return { ...toPriceInput(prices, param), currency: currency ?? undefined, rate }
}

export function serializeCosts(costs: UpstreamCosts | null): z.infer<typeof costsSchema> | null {
  if (costs === null) return null
  return { ...pricesJson(costs), currency: costs.currency ?? null, rate: costs.rate ?? '1' }
}

/** The view of an operation that takes effect once, however often it is requested. */
export function onceView<Schema extends z.ZodType>(schema: Schema) {
  return view(
    'result',
    schema,
    ({ json }: { readonly isNew: boolean; readonly json: z.input<Schema> }) => json,
  )
}
