/** Refunds at Alipay. It refunds once under our number; code 10000 alone does not say that money has moved. */
import { formatMinor } from '../lib/currency.ts'
import type { AlipayClient } from './alipay-client.ts'
import { alipayCurrency, readAmount } from './alipay-orders.ts'
import {
  ProviderError,
  type NamedRefund,
  type ProviderRefund,
  type RefundFacts,
  type RefundReading,
} from './payment-method.ts'

/** The refund can never be made. Every other refusal is for an operator, such as a merchant's empty balance. */
const finalRefusals = new Set([
  'ACQ.TRADE_NOT_EXIST',
  'ACQ.TRADE_HAS_FINISHED',
  'ACQ.TRADE_STATUS_ERROR',
  'ACQ.TRADE_NOT_ALLOW_REFUND',
  'ACQ.REASON_TRADE_STATUS_INVALID',
  'ACQ.REASON_TRADE_REFUND_FEE_ERR',
  'ACQ.REFUND_AMT_NOT_EQUAL_TOTAL',
  'ACQ.REFUND_FEE_ERROR',
  'ACQ.NOT_ALLOW_PARTIAL_REFUND',
])

export async function sendRefund(client: AlipayClient, refund: ProviderRefund): Promise<RefundReading> {
  const { refusal, text } = await client.call('alipay.trade.refund', {
    ...numbersOf(refund),
    refund_amount: formatMinor(refund.amountMinor, alipayCurrency),
    refund_reason: refund.description,
  })
  const reference = refund.id
  if (refusal === null) return { state: text('fund_change') === 'Y' ? 'done' : 'sent', reference }
  if (!finalRefusals.has(refusal)) return { state: 'unclear', reason: `Alipay responded with ${refusal}.` }
  // An earlier call without a response may have refunded: then it must not be given back, too.
  const reading = await readRefund(client, refund)
  return reading.state === 'absent'
    ? { state: 'refused', reason: `Alipay responded with ${refusal}.` }
    : reading
}

const queryMethod = 'alipay.trade.fastpay.refund.query'

export async function readNamedRefund(
  client: AlipayClient,
  { reference, transaction }: NamedRefund,
): Promise<RefundFacts | null> {
  const numbers = { trade_no: transaction, out_request_no: reference }
  const { refusal, text } = await client.call(queryMethod, numbers)
  const isKnown = refusal === null && text('refund_status') !== ''
  if (!isKnown) throw new ProviderError(`Alipay does not know the refund (${refusal ?? 'no state'}).`)
  return { transaction, currency: alipayCurrency, amountMinor: readAmount(text('refund_amount')) }
}

export async function readRefund(client: AlipayClient, refund: ProviderRefund): Promise<RefundReading> {
  const { refusal, text } = await client.call(queryMethod, numbersOf(refund))
  if (refusal === 'ACQ.TRADE_NOT_EXIST') return { state: 'absent' }
  if (refusal !== null) throw new ProviderError(`Alipay refused to read the refund (${refusal}).`)
  const status = text('refund_status')
  if (status === 'REFUND_SUCCESS') return { state: 'done', reference: refund.id }
  // Without a state, the refund has not arrived or has failed: it is sent again under its number.
  return status === 'REFUND_PROCESSING' ? { state: 'sent', reference: refund.id } : { state: 'absent' }
}

function numbersOf({ id, order }: ProviderRefund): Record<string, string> {
  const out_request_no = id
  if (order.transaction === null) return { out_trade_no: order.id, out_request_no }
  return { trade_no: order.transaction, out_request_no }
}
