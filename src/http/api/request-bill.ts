/**
 * The bill of a request, line by line, so that it can be verified by hand: the same price, factor and single rounding as
 * in ledger/price.ts, with every step. Rounding and waived amounts are shown, not hidden.
 */
import { z } from 'zod'
import { priceFromRow } from '../../catalog/prices.ts'
import { snakeCase } from '../../db/audit-changes.ts'
import type { Db } from '../../db/db.ts'
import { sql, type PriceRow } from '../../db/schema/schema.ts'
import {
  costOf,
  tierFactor,
  visitCosts,
  type CostVisitor,
  type FeeKind,
  type Price,
  type TokenKind,
  type Usage,
} from '../../ledger/price.ts'
import { parseClassedName } from '../../providers/image-classes.ts'
import { usageOfUnits } from '../../providers/request-units.ts'
import { formatAmount, formatFactor } from '../../lib/money.ts'
import type { StoredRequest } from '../../usage/request-pages.ts'
import { webSearchCount } from '../../usage/request-records.ts'
import { money } from './json-schemas.ts'

const fees = ['request', 'search', 'tool'] as const
const billLine = z.object({
  kind: z.enum([
    'input',
    'cached_input',
    'cache_write',
    'cache_write_1h',
    'output',
    'reasoning',
    'input_image',
    'input_audio',
    'cached_input_image',
    'cached_input_audio',
    'output_image',
    'output_audio',
    ...fees,
  ]),
  /** The name of the tool, if `kind` is `tool`. */
  tool: z.string().optional(),
  /** The class of the image tool's price that applies; absent: any. */
  quality: z.string().optional(),
  size: z.string().optional(),
  /** Tokens; for a fee, requests, searches or calls. */
  count: z.int(),
  /** Per 1,000 tokens, with the factor of the service tier; for a fee, per unit. */
  price: money,
  amount: money,
})
/** What a request used beside text tokens. */
export const units = z
  .object({
    input_image_tokens: z.int().optional(),
    input_audio_tokens: z.int().optional(),
    cached_input_image_tokens: z.int().optional(),
    cached_input_audio_tokens: z.int().optional(),
    output_image_tokens: z.int().optional(),
    output_audio_tokens: z.int().optional(),
    tool_calls: z.record(z.string(), z.int()).optional(),
  })
  .meta({
    description:
      'What was billed beside text tokens: image and audio tokens, and calls of tools that the provider ran, by name. What did not occur is left out.',
  })
/**
 * The bill, to the last digit: Σ amount = sum, × factor = exact, + rounding = total (rounded up once to a nano),
 * − waived (more than the request asked for, or not covered by the balance) = charged = balance before − balance after.
 */
export const bill = z.object({
  lines: z.array(billLine),
  sum: money,
  factor: z.string(),
  exact: money,
  rounding: money,
  total: money,
  waived: money,
  charged: money,
  /** The amount held when the request was admitted. */
  hold: money,
  /** null for old requests, for which no balance was recorded. */
  balance_before: money.nullable(),
  balance_after: money.nullable(),
  price_version: z.int().nullable(),
  service_tier: z.string(),
  /** By which the token prices are multiplied. */
  tier_factor: z.string(),
})
export type Bill = z.infer<typeof bill>

const onePpm = 1_000_000
/** Tokens × price per million × tier are nanos × 10¹²; with the account's factor, nanos × 10¹⁸. */
const nanoDigits = 9
const factorDigits = 6
const sumDigits = nanoDigits + 6 + factorDigits
/** Nanos per million tokens, as a price per 1,000 tokens, × tier. */
const rateDigits = 12 + factorDigits
const scale = 10n ** BigInt(sumDigits + factorDigits - nanoDigits)

/** Formats a multiple of 10^-digits as a decimal without trailing zeros. */
function formatExact(value: bigint, digits: number): string {
  const text = value.toString().padStart(digits + 1, '0')
  const fraction = text.slice(-digits).replace(/0+$/, '')
  return fraction === '' ? text.slice(0, -digits) : `${text.slice(0, -digits)}.${fraction}`
}

type Line = Bill['lines'][number]

/** Writes each line, and adds up their amounts. */
class BillLines implements CostVisitor {
  readonly lines: Line[] = []
  /** Nanos × 10¹². */
  sum = 0n
  readonly #tierPpm: bigint

  constructor(tierPpm: number) {
    this.#tierPpm = BigInt(tierPpm)
  }

  tokens(kind: TokenKind, count: number, rate: bigint): void {
    const price = rate * this.#tierPpm
    const amount = BigInt(count) * price
    this.sum += amount
    // The kinds of the schema are those of the ledger in snake_case.
    const line = { kind: snakeCase(kind) as Line['kind'], count, price: formatExact(price, rateDigits) }
    this.lines.push({ ...line, amount: formatExact(amount, sumDigits) })
  }

  fees(kind: FeeKind, count: number, fee: bigint): void {
    const amount = BigInt(count) * fee
    this.sum += amount * 10n ** BigInt(sumDigits - nanoDigits)
    const line = { count, price: formatAmount(fee), amount: formatAmount(amount) }
    if (kind === 'request' || kind === 'search') this.lines.push({ kind, ...line })
    else this.lines.push({ kind: 'tool', ...parseClassedName(kind.slice('tool:'.length)), ...line })
  }
}

function computeBill(row: StoredRequest, priceRow: PriceRow): Bill {
  const price: Price = { ...priceFromRow(priceRow), version: priceRow.version }
  const factorPpm = row.factor_ppm ?? onePpm
  const usage: Usage = {
    input: row.prompt_tokens,
    cachedInput: row.cached_tokens,
    cacheWrite: row.cache_write_tokens ?? 0,
    cacheWrite1h: row.cache_write_1h_tokens ?? 0,
    output: row.completion_tokens,
    reasoning: row.reasoning_tokens,
    searches: webSearchCount(row),
    ...usageOfUnits(row.units),
    ...(row.service_tier === null ? {} : { tier: row.service_tier }),
  }
  const tierPpm = tierFactor(price, usage.tier) ?? onePpm
  const parts = new BillLines(tierPpm)
  visitCosts(price, usage, parts)
  const exact = parts.sum * BigInt(factorPpm)
  const total = costOf(price, usage, factorPpm)
  const charged = row.cost_nanos
  const after = row.balance_nanos
  return {
    lines: parts.lines,
    sum: formatExact(parts.sum, sumDigits),
    factor: formatFactor(factorPpm),
    exact: formatExact(exact, sumDigits + factorDigits),
    rounding: formatExact(total * scale - exact, sumDigits + factorDigits),
    total: formatAmount(total),
    waived: formatAmount(total - charged),
    charged: formatAmount(charged),
    hold: formatAmount(row.hold_nanos),
    balance_before: after === null ? null : formatAmount(after + charged),
    balance_after: after === null ? null : formatAmount(after),
    price_version: priceRow.version,
    service_tier: row.service_tier ?? 'default',
    tier_factor: formatFactor(tierPpm),
  }
}

/** Returns null if the request has no bill. */
export async function readBill(db: Db, row: StoredRequest): Promise<Bill | null> {
  if (row.factor_ppm === null || row.balance_nanos === null || row.price_version === null) return null
  const query = sql.selectFrom('prices').selectAll().where('version', '=', row.price_version)
  const price = await db.first(query)
  return price === undefined ? null : computeBill(row, price)
}
