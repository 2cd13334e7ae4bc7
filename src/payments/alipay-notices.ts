/** Notices of Alipay: a form, signed over every parameter but `sign` and `sign_type`. */
import { readAmount } from './alipay-orders.ts'
import type { AlipaySettings } from './alipay-settings.ts'
import { isSignedBy, signedText } from './alipay-signature.ts'
import { ForgedNoticeError, type Notices, type NoticeSubject, type ReceivedNotice } from './payment-method.ts'

export function alipayNotices(settings: AlipaySettings): Notices {
  return {
    httpMethods: ['POST'],
    format: 'form',
    signatureName: 'sign',
    read: async (notice) => readNotice(settings, notice),
    responseTo: (outcome) => ({
      status: { accepted: 200, retry: 503, forged: 400 }[outcome],
      contentType: 'text/plain; charset=utf-8',
      body: outcome === 'accepted' ? 'success' : 'fail',
    }),
  }
}

/** The parameters by name. Throws a `ForgedNoticeError` for a name that comes twice, and for what is no form. */
export function parseNotice(body: Uint8Array): Map<string, string> {
  const fields = new Map<string, string>()
  try {
    for (const part of new TextDecoder('utf-8', { fatal: true }).decode(body).split('&')) {
      const [name = '', ...value] = part
        .split('=')
        .map((text) => decodeURIComponent(text.replaceAll('+', ' ')))
      if (fields.has(name)) throw new Error('A name comes twice')
      fields.set(name, value.join('='))
    }
    return fields
  } catch (error) {
    throw new ForgedNoticeError('The notice is no form.', { cause: error })
  }
}

function paymentOf(transaction: string, amount: string) {
  try {
    return transaction === '' ? null : { transaction, amountMinor: readAmount(amount) }
  } catch {
    return null
  }
}

function readNotice(settings: AlipaySettings, { body }: ReceivedNotice): NoticeSubject {
  const fields = parseNotice(body)
  const text = (name: string): string => fields.get(name) ?? ''
  const signed = signedText([...fields].filter(([name]) => name !== 'sign_type'))
  const keys = settings.alipayKeys.map(({ key }) => key)
  if (text('sign_type') !== 'RSA2' || !isSignedBy(signed, text('sign'), keys))
    throw new ForgedNoticeError('The signature of the notice is wrong.')
  // Alipay signs for all merchants with one key.
  if (text('app_id') !== settings.appId || text('seller_id') !== settings.sellerId) return { kind: 'other' }
  const refund = text('out_biz_no')
  const isRefund = text('gmt_refund') !== '' || /[1-9]/.test(text('refund_fee'))
  if (isRefund && refund !== '')
    return { kind: 'refund', refund, reference: refund, transaction: text('trade_no') }
  const order = text('out_trade_no')
  if (order === '') return { kind: 'other' }
  return { kind: 'order', order, payment: paymentOf(text('trade_no'), text('total_amount')) }
}
