/**
 * What the calls of the automation contract share: money, times, pages, prices, caps and limits as they travel, and
 * how an answer is declared. Objects are strict: a field that nobody knows is refused, not passed over.
 */
import { z } from '@hono/zod-openapi'
import { priceMissing, priceWords, type Price, type PriceInput } from '../../catalog/prices.ts'
import { refuse } from '../../errors.ts'
import { limitNames, type LimitsPatch, type OwnLimits } from '../../accounts/limits.ts'
import { decimalOf, nanosOf } from '../../lib/money.ts'
import { nothingSpent, type Spent } from '../../usage/key-spend.ts'

export const money = z
  .string()
  .max(64)
  .meta({ description: 'An amount as a decimal string.', example: '0.002' })
export const time = z.string().meta({ description: 'RFC 3339.', example: '2026-11-21T08:00:00.000Z' })
const checkedTime = z.iso.datetime({ offset: true, error: 'has to be a time such as "2026-11-21T08:00:00Z"' })

function upperCase(given: unknown): unknown {
  return typeof given === 'string' ? given.toUpperCase() : given
}

/** RFC 3339 lets the T and the Z be small. */
export const timeIn = z.preprocess(upperCase, checkedTime)
/** In an address, the plus before an offset is a space unless it is escaped. */
export const timeAsked = z.preprocess((given) => {
  const time = upperCase(given)
  return typeof time === 'string' ? time.replace(/ (?=\d\d:\d\d$)/, '+') : time
}, checkedTime)
const wholeOrNull = z.int().nullable()

/** Milliseconds since the epoch of a checked RFC 3339 time. */
export function msOf(text: string): number
export function msOf(text: string | undefined): number | undefined
export function msOf(text: string | null | undefined): number | null | undefined
export function msOf(text: string | null | undefined): number | null | undefined {
  return text === undefined || text === null ? text : Date.parse(text)
}

export function timeOf(ms: number): string
export function timeOf(ms: number | null): string | null
export function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

/** Nanos of a decimal string that may be left out or be null; refuses with 400 naming `param`. */
export function capOf(text: string | null | undefined, param: string): bigint | null | undefined {
  return text === undefined || text === null ? text : nanosOf(text, param)
}

export function capText(nanos: bigint | null): string | null {
  return nanos === null ? null : decimalOf(nanos)
}

export const capsIn = z.strictObject({ daily: money.nullish(), monthly: money.nullish() })
export const capsOut = z.object({ daily: money.nullable(), monthly: money.nullable() })

export const spentOut = z
  .object({ today: money, month: money, total: money })
  .meta({ description: 'In the open day and month of its account, and in its life.' })

export function spentView({ todayNanos, monthNanos, totalNanos }: Spent = nothingSpent) {
  return { today: decimalOf(todayNanos), month: decimalOf(monthNanos), total: decimalOf(totalNanos) }
}

const limitIn = z
  .union([z.int().min(0), z.literal('unlimited')], {
    error: 'has to be a whole number from 0, "unlimited" or null',
  })
  .nullish()
const limitOut = z.union([z.int(), z.literal('unlimited')]).nullable()

export const limitsIn = z.strictObject({ rpm: limitIn, tpm: limitIn, rpd: limitIn, concurrency: limitIn })

/** Its own limits as a patch: null in their place removes all of them. */
export function limitsPatch(given: z.infer<typeof limitsIn> | null | undefined): LimitsPatch | undefined {
  return given === null ? { rpm: null, tpm: null, rpd: null, concurrency: null } : given
}

export const limitsOut = z.object({ rpm: limitOut, tpm: limitOut, rpd: limitOut, concurrency: limitOut })

export function limitsView(own: OwnLimits): z.infer<typeof limitsOut> {
  const [rpm, tpm, rpd, concurrency] = limitNames.map((name) => own[name] ?? null)
  return { rpm: rpm ?? null, tpm: tpm ?? null, rpd: rpd ?? null, concurrency: concurrency ?? null }
}

export const tierLimits = { rpm: wholeOrNull, tpm: wholeOrNull, rpd: wholeOrNull, concurrency: wholeOrNull }

const priceFields = {
  input: money.optional(),
  output: money.optional(),
  cached_input: money.nullish(),
  cache_write: money.nullish(),
  cache_write_1h: money.nullish(),
  reasoning: money.nullish(),
  per_request: money.nullish(),
  per_search: money.nullish(),
  free: z.literal(true).optional(),
}
export const pricesIn = z.strictObject(priceFields).meta({
  description:
    'Per 1,000 tokens; `per_request` and `per_search` (each search of the web that the provider did) are amounts. Or `{"free": true}` and nothing else.',
})
export const costsIn = z
  .strictObject({ ...priceFields, currency: z.string().optional(), rate: z.string().max(64).optional() })
  .meta({ description: 'What it costs us; `rate` is what one of `currency` costs in the platform’s.' })
export const pricesOut = z.object(priceFields)

/** Prices or free, as given. Refuses with 400 naming `prices` when both or neither are. */
export function priceInputOf(given: z.infer<typeof pricesIn>): PriceInput {
  const { free, ...words } = given
  const isPriced = Object.values(words).some((word) => word !== undefined)
  if (free === true && isPriced) {
    throw refuse('invalid_request', { param: 'prices', message: 'prices are given, or "free" is, not both.' })
  }
  if (free === true) return { free }
  if (!isPriced) throw priceMissing()
  return {
    input: required(words.input, 'prices.input'),
    output: required(words.output, 'prices.output'),
    cachedInput: words.cached_input,
    cacheWrite: words.cache_write,
    cacheWrite1h: words.cache_write_1h,
    reasoning: words.reasoning,
    perRequest: words.per_request,
    perSearch: words.per_search,
  }
}

function required(word: string | undefined, param: string): string {
  if (word !== undefined) return word
  throw refuse('invalid_request', { param, message: `${param} is missing.` })
}

export function pricesView(price: Price): z.infer<typeof pricesOut> {
  return priceInputView(priceWords(price))
}

export function priceInputView(words: PriceInput): z.infer<typeof pricesOut> {
  if ('free' in words) return { free: true }
  return {
    input: words.input,
    output: words.output,
    cached_input: words.cachedInput ?? null,
    cache_write: words.cacheWrite ?? null,
    cache_write_1h: words.cacheWrite1h ?? null,
    reasoning: words.reasoning ?? null,
    per_request: words.perRequest ?? null,
    per_search: words.perSearch ?? null,
  }
}

const pageMax = 1000
const pageUsual = 100

/** Of a page's query. */
export const pageFields = {
  limit: z.coerce.number().int().min(1).max(pageMax).default(pageUsual),
  cursor: z.string().max(200).optional().meta({ description: '`next` of the page before.' }),
}

/** What a caller is to see nothing in. */
export function sealedCursor(inner: string | null): string | null {
  return inner === null ? null : Buffer.from(inner).toString('base64url')
}

/** The inside of a cursor; refuses with 400 what does not look like one of the list. */
export function openedCursor(cursor: string | undefined, pattern: RegExp): string | undefined {
  if (cursor === undefined) return undefined
  const inner = Buffer.from(cursor, 'base64url').toString()
  if (pattern.test(inner)) return inner
  throw refuse('invalid_request', { param: 'cursor', message: 'cursor is not one of this list.' })
}

export const errorBody = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
  }),
})

export const gone = z.object({ id: z.string(), deleted: z.literal(true) })

function json<Body extends z.ZodType>(schema: Body, description: string) {
  return { description, content: { 'application/json': { schema } } } as const
}

export function bodyOf<Body extends z.ZodType>(schema: Body) {
  return { content: { 'application/json': { schema } }, required: true } as const
}

const refusal = json(errorBody, 'A refusal.')
export const refusals = { 400: refusal, 401: refusal, 404: refusal, 409: refusal } as const

export function okAnswer<Body extends z.ZodType>(schema: Body, description: string) {
  return { 200: json(schema, description), ...refusals } as const
}

export function listAnswer<Item extends z.ZodType>(item: Item, description: string) {
  return okAnswer(z.object({ data: z.array(item), next: z.string().nullable() }), description)
}

export function createdAnswer<Body extends z.ZodType>(schema: Body, description: string) {
  return { 201: json(schema, description), ...refusals } as const
}

/** For what is entered once however often it is sent. */
export function enteredAnswer<Body extends z.ZodType>(schema: Body, descriptions: readonly [string, string]) {
  const [entered, known] = descriptions
  return { 201: json(schema, entered), 200: json(schema, known), ...refusals } as const
}

export const idPath = z.object({ id: z.string() })
