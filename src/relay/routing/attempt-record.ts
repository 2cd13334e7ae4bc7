import { costOf, tierFactor, type Price } from '../../ledger/price.ts'
import { formatAmount } from '../../lib/money.ts'
import type { Bill } from '../bill.ts'
import type { ResponseForm } from './response-form.ts'
import { addImages, chargeImages } from '../image-bill.ts'

/** One attempt, as the admin API shows it. */
export interface AttemptRecord {
  /** The upstream's id. */
  readonly upstream: string
  outcome: 'ok' | 'failed' | 'aborted'
  readonly http_status: number | null
  duration_ms: number
  /** What it costs us, as a decimal; `null` if unknown. */
  cost: string | null
  /** The provider reported more usage than the request asked for, or than the model can have. */
  clamped?: true
  /** The service tier that served it, if the price has no factor for it. */
  unpriced_tier?: string
  /** The quality and size of an image that had no price: it was billed as the dearest that the request could cause. */
  unpriced_class?: string
  /** Number of web searches, if any. */
  searches?: number
  /** The caller's response has the upstream's name for the model; absent if it is the name that the caller sent. */
  model_exposed?: true
  /** The upstream sent a stream where a whole response was asked for, or JSON where a stream was. */
  responded_with?: ResponseForm
  /** Why it failed, by `failureMessage`. */
  error?: string
  /** The id under which the upstream knows a failed call. */
  upstream_request_id?: string
}

/** Adds what the bill says about the provider's response. Returns what it costs us; `null`: unknown. */
export function addBill(
  record: AttemptRecord,
  { isClamped, usage, images }: Bill,
  price: Price,
  routeCost: Price | null,
): bigint | null {
  const { searches, tier } = usage
  if (isClamped) record.clamped = true
  if (searches) record.searches = searches
  if (tier !== undefined && tierFactor(price, tier) === undefined) record.unpriced_tier = tier
  if (images?.unpricedClass !== undefined) record.unpriced_class = images.unpricedClass
  if (routeCost === null) return null
  // The upstream may sell images by other classes than the model, or by tokens.
  const billed = images ? addImages(images.others, chargeImages(images.made, routeCost)) : usage
  const cost = costOf(routeCost, billed, 1_000_000)
  record.cost = formatAmount(cost)
  return cost
}
