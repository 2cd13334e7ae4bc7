/**
 * The bill of a request, line by line, so that it can be added up by hand: the same price, factor and one rounding as
 * ledger/price.ts, of which this is the long form. What does not come out is said, not hidden.
 */
import { priceFromRow } from '../../catalog/prices.ts'
import type { Db } from '../../db/db.ts'
import { sql, type PriceRow } from '../../db/schema/schema.ts'
import { costOf, type Price } from '../../ledger/price.ts'
import { decimalOf, factorOf, pricePer1KOf } from '../../lib/money.ts'
import type { StoredRequest } from '../../usage/request-pages.ts'
import { searchesOf } from '../../usage/request-records.ts'
import type { Bill } from '../console/contract/usage.ts'

/** Nanos × 10⁶ are tokens × price per million; with the factor, × 10¹². */
const weightDigits = 9 + 6
const factorDigits = 6

/** A whole number of 10^-digits as a decimal without needless zeros. */
function exactDecimal(value: bigint, digits: number): string {
  const text = value.toString().padStart(digits + 1, '0')
  const fraction = text.slice(-digits).replace(/0+$/, '')
  return fraction === '' ? text.slice(0, -digits) : `${text.slice(0, -digits)}.${fraction}`
}

type Line = Bill['lines'][number]
interface Part {
  readonly kind: Line['kind']
  readonly count: number
  /** Nanos per million tokens; of a fee, nanos × 10⁶ for each. */
  readonly price: bigint
}

/** By the piece, not by the thousand. */
function isFee(kind: Line['kind']): boolean {
  return kind === 'request' || kind === 'search'
}

function partsOf(row: StoredRequest, price: Price): Part[] {
  const written = row.cache_write_tokens ?? 0
  const long = Math.min(row.cache_write_1h_tokens ?? 0, written)
  const writtenPrice = price.cacheWrite ?? price.input
  const parts: Part[] = [
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
    { kind: 'search', count: searchesOf(row), price: (price.perSearch ?? 0n) * 1_000_000n },
  ]
  return parts.filter(({ kind, count, price: each }) => count > 0 && (!isFee(kind) || each > 0n))
}

function lineOf({ kind, count, price }: Part): Line {
  return {
    kind,
    count,
    price: isFee(kind) ? decimalOf(price / 1_000_000n) : pricePer1KOf(price),
    amount: exactDecimal(BigInt(count) * price, weightDigits),
  }
}

function billWith(row: StoredRequest, priceRow: PriceRow): Bill {
  const price: Price = { ...priceFromRow(priceRow), version: priceRow.version }
  const factorPpm = row.factor_ppm ?? 1_000_000
  const parts = partsOf(row, price)
  const sum = parts.reduce((total, part) => total + BigInt(part.count) * part.price, 0n)
  const exact = sum * BigInt(factorPpm)
  const usage = {
    input: row.prompt_tokens,
    cachedInput: row.cached_tokens,
    cacheWrite: row.cache_write_tokens ?? 0,
    cacheWrite1h: row.cache_write_1h_tokens ?? 0,
    output: row.completion_tokens,
    reasoning: row.reasoning_tokens,
    searches: searchesOf(row),
  }
  const total = costOf(price, usage, factorPpm)
  const charged = row.cost_nanos
  const after = row.balance_nanos
  return {
    lines: parts.map(lineOf),
    sum: exactDecimal(sum, weightDigits),
    factor: factorOf(factorPpm),
    exact: exactDecimal(exact, weightDigits + factorDigits),
    rounding: exactDecimal(total * 10n ** 12n - exact, weightDigits + factorDigits),
    total: decimalOf(total),
    waived: decimalOf(total - charged),
    charged: decimalOf(charged),
    hold: decimalOf(row.hold_nanos),
    balance_before: after === null ? null : decimalOf(after + charged),
    balance_after: after === null ? null : decimalOf(after),
    price_version: priceRow.version,
  }
}

/** null for a request that no bill was made for. */
export async function billOfRow(db: Db, row: StoredRequest): Promise<Bill | null> {
  if (row.factor_ppm === null || row.balance_nanos === null || row.price_version === null) return null
  const query = sql.selectFrom('prices').selectAll().where('version', '=', row.price_version)
  const price = await db.first(query)
  return price === undefined ? null : billWith(row, price)
}
