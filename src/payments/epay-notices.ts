/**
 * Notices of epay: form fields in the query or the body, signed like requests. Values are not encoded in what is signed,
 * so a request of ours, such as a link to the page, must not pass for a notice: forms that only such a link has are refused.
 */
import { factsOf, type EpayMerchant } from './epay-orders.ts'
import type { EpayFields, EpaySigner } from './epay-signature.ts'
import { textOf } from './epay-site.ts'
import { maxClockDifferenceMs } from './epay-v2.ts'
import {
  ForgedNoticeError,
  type NoticeResponse,
  type NoticeOutcome,
  type Notices,
  type NoticeSubject,
  type PaymentFacts,
  type ReceivedNotice,
} from './payment-method.ts'

const responses: Readonly<Record<NoticeOutcome, NoticeResponse>> = {
  accepted: { status: 200, contentType: 'text/plain', body: 'success' },
  retry: { status: 503, contentType: 'text/plain', body: 'fail' },
  forged: { status: 400, contentType: 'text/plain', body: 'fail' },
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new ForgedNoticeError('The notice is not encoded as a form.')
  }
}

/** Throws a `ForgedNoticeError` for what a signature does not distinguish from other fields. */
function parseFields(form: string): EpayFields {
  const fields = new Map<string, string>()
  for (const pair of form.split('&')) {
    const [name = '', ...rest] = pair.split('=')
    const [field, value] = [decode(name), decode(rest.join('='))]
    if (fields.has(field)) throw new ForgedNoticeError('The notice repeats a field.')
    if (!/^[a-z]\w{0,63}$/i.test(field)) throw new ForgedNoticeError('The notice has an unknown form.')
    if (field !== 'sign' && /[&=\p{Cc}]/u.test(value))
      throw new ForgedNoticeError('A field of the notice could contain further fields.')
    fields.set(field, value)
  }
  if (fields.has('notify_url') || fields.has('return_url'))
    throw new ForgedNoticeError('The notice has fields of a request.')
  return Object.fromEntries(fields)
}

interface EpayNoticesOptions extends EpayMerchant {
  readonly signer: EpaySigner
  readonly needsTimestamp: boolean
  /** The types that are offered; empty: the payer chooses at the site. */
  readonly types: readonly string[]
  /** Called with each verified payment. */
  readonly onPayment: (payment: PaymentFacts) => void
}

export class EpayNotices implements Notices {
  readonly httpMethods = ['GET', 'POST'] as const
  readonly format = 'form'
  readonly signatureName = 'sign'
  readonly #options: EpayNoticesOptions

  constructor(options: EpayNoticesOptions) {
    this.#options = options
  }

  read(notice: ReceivedNotice): Promise<NoticeSubject> {
    return Promise.resolve().then(() => this.#subjectOf(notice))
  }

  #subjectOf({ method, query, body, receivedAt }: ReceivedNotice): NoticeSubject {
    const fields = parseFields(method === 'GET' ? query : Buffer.from(body).toString())
    this.#verify(fields, receivedAt)
    const order = textOf(fields, 'out_trade_no')
    if (textOf(fields, 'trade_status') !== 'TRADE_SUCCESS' || order === '') return { kind: 'other' }
    const payment = factsOf(this.#options, fields, order)
    this.#options.onPayment(payment)
    const { transaction, amountMinor } = payment
    return { kind: 'order', order, payment: { transaction, amountMinor } }
  }

  #verify(fields: EpayFields, receivedAt: number): void {
    const { signer, pid, types, needsTimestamp } = this.#options
    const signType = textOf(fields, 'sign_type')
    const isOfVersion = signType === '' || signType.toUpperCase() === signer.type
    if (!isOfVersion || !signer.verify(fields, textOf(fields, 'sign')))
      throw new ForgedNoticeError('The signature of the notice is wrong.')
    const timestamp = textOf(fields, 'timestamp')
    const at = /^\d{10}$/.test(timestamp) ? Number(timestamp) * 1000 : Number.NaN
    if (needsTimestamp && !(Math.abs(receivedAt - at) <= maxClockDifferenceMs))
      throw new ForgedNoticeError('The notice is more than five minutes old, or the clocks differ.')
    // Some sites sign with the id of another merchant; an operator sees that here, and asks the site.
    if (textOf(fields, 'pid') !== pid)
      throw new ForgedNoticeError('The notice names another merchant than EPAY_PID.')
    if (types.length > 0 && !types.includes(textOf(fields, 'type')))
      throw new ForgedNoticeError('The notice names a type that EPAY_TYPES does not offer.')
  }

  responseTo(outcome: NoticeOutcome): NoticeResponse {
    return responses[outcome]
  }
}
