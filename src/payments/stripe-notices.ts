/** Stripe's webhook events. Their own content is never believed: it names what is read. */
import { ForgedNoticeError } from './payment-method.ts'
import type {
  NoticeResponse,
  NoticeOutcome,
  Notices,
  NoticeSubject,
  ReceivedNotice,
} from './payment-method.ts'
import type { StripeClient } from './stripe-client.ts'

/** Source: https://docs.stripe.com/webhooks, “Replay attacks”. */
const toleranceSeconds = 300
const statuses: Readonly<Record<NoticeOutcome, number>> = { accepted: 200, retry: 503, forged: 400 }

const other: NoticeSubject = { kind: 'other' }

type Fields = Readonly<Record<string, unknown>>

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}

function orderSubject(order: unknown, intent: unknown = null, amount: unknown = null): NoticeSubject {
  const [id, transaction] = [textOf(order), textOf(intent)]
  if (id === null) return other
  const isStated = transaction !== null && Number.isSafeInteger(amount)
  return {
    kind: 'order',
    order: id,
    payment: isStated ? { transaction, amountMinor: BigInt(amount as number) } : null,
  }
}

function refundSubject(refund: Fields): NoticeSubject {
  const [reference, transaction] = [textOf(refund['id']), textOf(refund['payment_intent'])]
  if (reference === null || transaction === null) return other
  return { kind: 'refund', refund: textOf(fieldsOf(refund['metadata'])['refund']), reference, transaction }
}

/** An inquiry (`warning_…`) takes no money; it becomes a dispute, with a notice of its own, if it does. */
function disputeSubject(dispute: Fields): NoticeSubject {
  const reference = textOf(dispute['id'])
  const isInquiry = textOf(dispute['status'])?.startsWith('warning_') === true
  return reference === null || isInquiry ? other : { kind: 'dispute', reference }
}

function subjectOf(type: string, object: Fields, previous: Fields): NoticeSubject {
  const metadata = fieldsOf(object['metadata'])
  switch (type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return orderSubject(object['client_reference_id'], object['payment_intent'], object['amount_total'])
    case 'checkout.session.async_payment_failed':
    case 'checkout.session.expired':
      return orderSubject(object['client_reference_id'])
    case 'payment_intent.succeeded':
      return orderSubject(metadata['order'], object['id'], object['amount_received'])
    case 'payment_intent.payment_failed':
    case 'payment_intent.canceled':
      // A payer whose card was declined can try another one on the same page: nothing has happened to such an order.
      return metadata['automatic'] === 'true' ? orderSubject(metadata['order']) : other
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
      return refundSubject(object)
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
    case 'charge.dispute.closed':
      return disputeSubject(object)
    case 'payment_method.detached': {
      const customer = textOf(previous['customer'])
      return customer === null ? other : { kind: 'card-removed', customer, card: textOf(object['id']) }
    }
    case 'customer.deleted': {
      const customer = textOf(object['id'])
      return customer === null ? other : { kind: 'card-removed', customer, card: null }
    }
    default:
      return other
  }
}

/** The library takes the last of several times, and never minds one that is in the future or no number. */
function hasOnePlausibleTime(header: string, receivedAt: number): boolean {
  const times = header.split(',').filter((part) => part.startsWith('t='))
  const [, seconds] = /^t=(\d{1,12})$/.exec(times[0] ?? '') ?? []
  return times.length === 1 && Number(seconds) <= receivedAt / 1000 + toleranceSeconds
}

export class StripeNotices implements Notices {
  readonly httpMethods = ['POST'] as const
  readonly format = 'json'
  readonly signatureName = 'stripe-signature'
  readonly #client: StripeClient
  readonly #secrets: readonly string[]

  constructor(client: StripeClient, secrets: readonly string[]) {
    this.#client = client
    this.#secrets = secrets
  }

  async read({ headers, body, receivedAt }: ReceivedNotice): Promise<NoticeSubject> {
    const header = headers.get('stripe-signature') ?? ''
    if (!hasOnePlausibleTime(header, receivedAt)) throw new ForgedNoticeError('The time is missing or wrong.')
    const webhooks = await this.#client.webhooks()
    for (const secret of this.#secrets) {
      try {
        const event = fieldsOf(
          webhooks.constructEvent(body, header, secret, toleranceSeconds, undefined, receivedAt),
        )
        const { object, previous_attributes: previous } = fieldsOf(event['data'])
        return subjectOf(textOf(event['type']) ?? '', fieldsOf(object), fieldsOf(previous))
      } catch {
        // Signed with another secret, perhaps.
      }
    }
    throw new ForgedNoticeError('The signature is wrong, or too old.')
  }

  responseTo(outcome: NoticeOutcome): NoticeResponse {
    return { status: statuses[outcome], contentType: 'text/plain; charset=utf-8', body: '' }
  }
}
