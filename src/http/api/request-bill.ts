/**
 * The bill of a request, line by line, so that it can be verified by hand: the same price, factor and single rounding as
 * in ledger/price.ts, but with every step. Rounding and waived amounts are shown, not hidden.
 */
import { z } from 'zod'
import { priceFromRow } from '../../catalog/prices.ts'
import type { Db } from '../../db/db.ts'
import { sql, type PriceRow } from '../../db/schema/schema.ts'
import { costOf, type Price } from '../../ledger/price.ts'
import { formatAmount, formatFactor, formatPrice } from '../../lib/money.ts'
import type { StoredRequest } from '../../usage/request-pages.ts'
import { webSearchCount } from '../../usage/request-records.ts'
import { money } from './json-schemas.ts'

const billLine = z.object({
  kind: z.enum([
    'input',
    'cached_input',
    'cache_write',
    'cache_write_1h',
    'output',
    'reasoning',
    'request',
    'search',
  ]),
  /** Tokens; for a fee, requests or searches. */
  count: z.int(),
  /** Per 1,000 tokens; for a fee, per unit. */
  price: money,
  amount: money,
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
})
export type Bill = z.infer<typeof bill>

/** Tokens × price per million are nanos × 10⁶; with the factor, nanos × 10¹². */
const weightDigits = 9 + 6
const factorDigits = 6

/** Formats a multiple of 10^-digits as a decimal without trailing zeros. */
function formatExact(value: bigint, digits: number): string {
  const text = value.toString().padStart(digits + 1, '0')
  const fraction = text.slice(-digits).replace(/0+$/, '')
  return fraction === '' ? text.slice(0, -digits) : `${text.slice(0, -digits)}.${fraction}`
}

type Line = Bill['lines'][number]
interface BillItem {
  readonly kind: Line['kind']
  readonly count: number
  /** Nanos per million tokens; for a fee, nanos × 10⁶ per unit. */
  readonly price: bigint
}

/** Charged per unit, not per token. */
function isFee(kind: Line['kind']): boolean {
  return kind === 'request' || kind === 'search'
}

function listBillItems(row: StoredRequest, price: Price): BillItem[] {
  const written = row.cache_write_tokens ?? 0
  const long = Math.min(row.cache_write_1h_tokens ?? 0, written)
  const writtenPrice = price.cacheWrite ?? price.input
  const items: BillItem[] = [
    {
      kind: 'input',
      count: Math.max(0, row.prompt_tokens - row.cached_tokens - written),
      price: price.input,
    },
    { kind: 'cached_input', count: row.cached_tokens, price: price.cachedInput ?? price.input },
    { kind: 'cache_write', count: written - long, price: writtenPrice },
    { kind: 'cache_write_1h', count: long, price: price.cacheWrite1h ?? writtenPrice },
    {
      kind: 'output',
      count: Math.max(0, row.completion_tokens - row.reasoning_tokens),
      price: price.output,
    },
    { kind: 'reasoning', count: row.reasoning_tokens, price: price.reasoning ?? price.output },
    { kind: 'request', count: 1, price: price.perRequest * 1_000_000n },
    { kind: 'search', count: webSearchCount(row), price: (price.perSearch ?? 0n) * 1_000_000n },
  ]
  return items.filter(({ kind, count, price: unitPrice }) => count > 0 && (!isFee(kind) || unitPrice > 0n))
}

function toBillLine({ kind, count, price }: BillItem): Line {
  return {
    kind,
    count,
    price: isFee(kind) ? formatAmount(price / 1_000_000n) : formatPrice(price),
    amount: formatExact(BigInt(count) * price, weightDigits),
  }
}

function computeBill(row: StoredRequest, priceRow: PriceRow): Bill {
  const price: Price = { ...priceFromRow(priceRow), version: priceRow.version }
  const factorPpm = row.factor_ppm ?? 1_000_000
  const parts = listBillItems(row, price)
  const sum = parts.reduce((total, part) => total + BigInt(part.count) * part.price, 0n)
  const exact = sum * BigInt(factorPpm)
  const usage = {
    input: row.prompt_tokens,
    cachedInput: row.cached_tokens,
    cacheWrite: row.cache_write_tokens ?? 0,
    cacheWrite1h: row.cache_write_1h_tokens ?? 0,
    output: row.completion_tokens,
    reasoning: row.reasoning_tokens,
    searches: webSearchCount(row),
  }
  const total = costOf(price, usage, factorPpm)
  const charged = row.cost_nanos
  const after = row.balance_nanos
  return {
    lines: parts.map(toBillLine),
    sum: formatExact(sum, weightDigits),
    factor: formatFactor(factorPpm),
    exact: formatExact(exact, weightDigits + factorDigits),
    rounding: formatExact(total * 10n ** 12n - exact, weightDigits + factorDigits),
    total: formatAmount(total),
    waived: formatAmount(total - charged),
    charged: formatAmount(charged),
    hold: formatAmount(row.hold_nanos),
    balance_before: after === null ? null : formatAmount(after + charged),
    balance_after: after === null ? null : formatAmount(after),
    price_version: priceRow.version,
  }
}

/** Returns null if the request has no bill. */
export async function readBill(db: Db, row: StoredRequest): Promise<Bill | null> {
  if (row.factor_ppm === null || row.balance_nanos === null || row.price_version === null) return null
  const query = sql.selectFrom('prices').selectAll().where('version', '=', row.price_version)
  const price = await db.first(query)
  return price === undefined ? null : computeBill(row, price)
}
