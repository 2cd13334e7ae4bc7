/** What differs between the versions of epay. */
import { formatMinor } from '../lib/currency.ts'
import type { EpaySettings } from './epay-settings.ts'
import type { EpayFields } from './epay-signature.ts'
import type { PaymentMethod, ProviderOrder } from './payment-method.ts'

export interface EpayVersion extends Pick<
  PaymentMethod,
  'begin' | 'read' | 'close' | 'refund' | 'readRefund' | 'check'
> {
  /** Notices are signed with the time, and old ones are refused. */
  readonly needsTimestamp: boolean
  /** A page of the site's list of orders, the newest first; `page` counts from 0. Rows are not verified. */
  listOrders(page: number, seen: number): Promise<readonly unknown[]>
}

const maxNameBytes = 127

/**
 * The signed fields of an order. Values are not encoded in what is signed: one with `&` could read like further fields,
 * and so make a request of ours pass for a notice.
 */
export function orderFields({ pid }: EpaySettings, order: ProviderOrder): EpayFields {
  if (order.noticeUrl === null) throw new Error('An epay order needs a notice URL.')
  const fields = {
    pid,
    out_trade_no: order.id,
    notify_url: order.noticeUrl,
    return_url: order.returnUrl,
    name: Buffer.from(order.description.replaceAll(/[&=\p{Cc}]/gu, ' '))
      .subarray(0, maxNameBytes)
      .toString()
      .replace(/�$/, ''),
    money: formatMinor(order.amountMinor, order.currency),
  }
  if (Object.values(fields).some((value) => value.includes('&')))
    throw new Error('No field of an epay order may contain an ampersand.')
  return order.product === null ? fields : { ...fields, type: order.product }
}
