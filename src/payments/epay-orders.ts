/** What an epay site states about an order, and what follows from it. */
import { createHash } from 'node:crypto'
import { epayCurrency, isRow, textOf, timeOf, type EpayRow, type EpaySite } from './epay-site.ts'
import type { OrderReading, PaymentFacts, ProviderOrder } from './payment-method.ts'

/** The part of `EpaySettings` that names who receives the money. */
export interface EpayMerchant {
  readonly site: EpaySite
  readonly pid: string
}

/** Two sites may give the same number: `1001@pay.example`. */
export function merchantName({ site, pid }: EpayMerchant, stated = pid): string {
  return `${stated}@${site.name}`
}

function statedTradeStatuses(rows: readonly EpayRow[]): string[] {
  return rows.filter((row) => 'trade_status' in row).map((row) => textOf(row, 'trade_status'))
}

/**
 * Some sites put the order under `data`, and some state in `status` only that the query worked: where there is a
 * `trade_status`, it decides.
 */
export function readingOf(merchant: EpayMerchant, response: EpayRow, order: ProviderOrder): OrderReading {
  const { site } = merchant
  const rows = isRow(response['data']) ? [response, response['data']] : [response]
  const row: EpayRow = Object.assign({}, ...rows) as EpayRow
  if (textOf(row, 'out_trade_no') !== order.id) throw site.error('stated another order')
  const tradeStatuses = statedTradeStatuses(rows)
  if (tradeStatuses.length > 0 && tradeStatuses.every((status) => status.startsWith('WAIT')))
    return { state: 'unpaid' }
  if (tradeStatuses.some((status) => status !== 'TRADE_SUCCESS'))
    throw site.error('stated no state of the order that is known')
  switch (textOf(row, 'status')) {
    case '0':
      if (tradeStatuses.length > 0) throw site.error('contradicts itself about an order')
      return { state: 'unpaid' }
    case '1':
      return { state: 'paid', payment: factsOf(merchant, row, order.id) }
    case '2':
      // Refunded in the site's own pages before it was credited here: there is nothing to credit.
      if (order.transaction === null) return { state: 'closed' }
      return { state: 'paid', payment: factsOf(merchant, row, order.id) }
    case '3':
    case '4':
      // Frozen by the site, or authorised only.
      return { state: 'processing' }
    default:
      throw site.error('stated no state of the order that is known')
  }
}

/** Of a row that says paid. Throws a `ProviderError` if a fact is missing. */
export function factsOf(merchant: EpayMerchant, row: EpayRow, order: string): PaymentFacts {
  const { site } = merchant
  const transaction = textOf(row, 'trade_no')
  if (!/^[\w-]{1,64}$/.test(transaction)) throw site.error('stated no number of the payment')
  const pid = textOf(row, 'pid')
  const payer = textOf(row, 'buyer')
  return {
    order,
    merchant: merchantName(merchant, pid === '' ? undefined : pid),
    currency: epayCurrency,
    amountMinor: site.minorOf(row),
    transaction,
    paidAt: timeOf(row, 'endtime'),
    payer: payer === '' ? null : createHash('sha256').update(payer).digest('hex'),
    savedCard: null,
  }
}
