/** Refunds at WeChat Pay. It refunds once under our number; a refund that it has accepted can still fail. */
import type { WechatClient, WechatResult } from './wechat-client.ts'
import { amountOf, wechatCurrency } from './wechat-orders.ts'
import {
  ProviderError,
  type NamedRefund,
  type ProviderRefund,
  type RefundFacts,
  type RefundReading,
} from './payment-method.ts'

const path = '/v3/refund/domestic/refunds'
const unknownRefund = 'RESOURCE_NOT_EXISTS'

/** The refund can never be made. Every other refusal is for an operator, such as a merchant's empty balance. */
const finalRefusals = new Set([
  'INVALID_REQUEST',
  'PARAM_ERROR',
  'MCH_NOT_EXISTS',
  'USER_ACCOUNT_ABNORMAL',
  unknownRefund,
])

export async function sendRefund(client: WechatClient, refund: ProviderRefund): Promise<RefundReading> {
  const { id, order, amountMinor, description } = refund
  const result = await client.call({
    method: 'POST',
    path,
    body: {
      ...(order.transaction === null ? { out_trade_no: order.id } : { transaction_id: order.transaction }),
      out_refund_no: id,
      reason: description,
      ...(order.noticeUrl === null ? {} : { notify_url: order.noticeUrl }),
      amount: { refund: amountOf(amountMinor), total: amountOf(order.amountMinor), currency: wechatCurrency },
    },
  })
  const { refusal } = result
  if (refusal === null) return readingOf(refund, result)
  const reason = `WeChat Pay responded with ${refusal}.`
  if (!finalRefusals.has(refusal)) return { state: 'unclear', reason }
  // An earlier call without a response may have refunded: then it must not be given back, too.
  const reading = await readRefund(client, refund)
  return reading.state === 'absent' ? { state: 'refused', reason } : reading
}

const queryRefund = (client: WechatClient, number: string): Promise<WechatResult> =>
  client.call({ method: 'GET', path: `${path}/${encodeURIComponent(number)}` })

export async function readNamedRefund(
  client: WechatClient,
  { refund, reference }: NamedRefund,
): Promise<RefundFacts | null> {
  const { refusal, fields } = await queryRefund(client, refund ?? '')
  const amountMinor = fields.object('amount')?.minor('refund') ?? null
  if (refusal !== null || fields.text('refund_id') !== reference || amountMinor === null)
    throw new ProviderError(`WeChat Pay does not know the refund (${refusal ?? 'another one'}).`)
  if (fields.text('status') === 'CLOSED') return null
  return { transaction: fields.text('transaction_id'), currency: wechatCurrency, amountMinor }
}

export async function readRefund(client: WechatClient, refund: ProviderRefund): Promise<RefundReading> {
  const result = await queryRefund(client, refund.id)
  if (result.refusal === unknownRefund) return { state: 'absent' }
  if (result.refusal !== null)
    throw new ProviderError(`WeChat Pay refused to read the refund (${result.refusal}).`)
  return readingOf(refund, result)
}

function readingOf(refund: ProviderRefund, { fields }: WechatResult): RefundReading {
  // A response is signed without what was asked.
  if (fields.text('out_refund_no') !== refund.id)
    throw new ProviderError('WeChat Pay responded with another refund.')
  if (fields.object('amount')?.minor('refund') !== refund.amountMinor)
    return { state: 'unclear', reason: 'WeChat Pay knows the refund with another amount.' }
  const reference = fields.text('refund_id') || null
  switch (fields.text('status')) {
    case 'SUCCESS':
      return { state: 'done', reference }
    case 'PROCESSING':
      return { state: 'sent', reference }
    case 'CLOSED':
      return { state: 'refused', reason: 'WeChat Pay has closed the refund.' }
    case 'ABNORMAL':
      return { state: 'unclear', reason: 'The refund is abnormal: finish it on the merchant platform.' }
    default:
      throw new ProviderError('WeChat Pay stated an unknown state of the refund.')
  }
}
