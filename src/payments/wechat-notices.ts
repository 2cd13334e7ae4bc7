/** Notices of WeChat Pay: signed JSON with an encrypted part, which says what the notice is about. */
import {
  ForgedNoticeError,
  ProviderError,
  type Notices,
  type NoticeSubject,
  type ReceivedNotice,
} from './payment-method.ts'
import { signedMessageOf, type WechatClient } from './wechat-client.ts'
import { resourceOf } from './wechat-keys.ts'
import { WechatObject } from './wechat-object.ts'
import { openResource } from './wechat-signature.ts'

export function wechatNotices(client: WechatClient): Notices {
  return {
    httpMethods: ['POST'],
    format: 'json',
    signatureName: 'wechatpay-signature',
    read: (notice) => readNotice(client, notice),
    responseTo: (outcome) => ({
      status: { accepted: 204, retry: 503, forged: 401 }[outcome],
      contentType: 'application/json',
      body: outcome === 'accepted' ? '' : JSON.stringify({ code: 'FAIL', message: failureTexts[outcome] }),
    }),
  }
}

const failureTexts = { retry: 'Not yet processed', forged: 'Wrong signature' }

async function readNotice(
  { settings, keys }: WechatClient,
  { headers, body }: ReceivedNotice,
): Promise<NoticeSubject> {
  const problem = await keys.problemOf(signedMessageOf((name) => headers.get(name), body))
  if (problem !== null) throw new ForgedNoticeError(`The notice ${problem}.`)
  const notice = WechatObject.parse(body)
  if (notice === null) throw new ForgedNoticeError('The notice is no JSON object with distinct keys.')
  const event = notice.text('event_type')
  const resource = notice.object('resource')
  if (resource === null || !/^(?:TRANSACTION|REFUND)\./.test(event)) return { kind: 'other' }
  const opened = openResource(resourceOf(resource), settings.v3Keys)
  // It is genuine: with the right key, it can be read when it comes again.
  if (opened === null) throw new ProviderError('WECHAT_V3_KEY does not open a genuine notice.')
  const fields = WechatObject.parse(opened)
  if (fields === null) return { kind: 'other' }
  return event.startsWith('REFUND.') ? readRefund(fields, settings.mchid) : readTransaction(fields, settings)
}

/** WeChat Pay signs for all merchants of a key, and a merchant can have several apps. */
function readTransaction(
  fields: WechatObject,
  { mchid, appid }: { readonly mchid: string; readonly appid: string },
): NoticeSubject {
  const order = fields.text('out_trade_no')
  const isOurs = fields.text('mchid') === mchid && fields.text('appid') === appid
  if (!isOurs || order === '') return { kind: 'other' }
  const transaction = fields.text('transaction_id')
  const amountMinor = fields.object('amount')?.minor('total') ?? null
  const isStated = transaction !== '' && amountMinor !== null
  return { kind: 'order', order, payment: isStated ? { transaction, amountMinor } : null }
}

function readRefund(fields: WechatObject, mchid: string): NoticeSubject {
  const [reference, transaction] = [fields.text('refund_id'), fields.text('transaction_id')]
  if (fields.text('mchid') !== mchid || reference === '') return { kind: 'other' }
  return { kind: 'refund', refund: fields.text('out_refund_no') || null, reference, transaction }
}
