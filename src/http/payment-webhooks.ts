/**
 * `/api/payments/{method}/notice`: where payment providers send webhooks. No session and no key: a webhook proves itself by
 * its signature, over the bytes as received. Anybody can send one, so it is read, parsed and verified on this worker; only
 * a genuine one reaches the main thread, which has the ledger. Where a worker runs on the main thread, the bounds of size
 * and fields keep what a stranger can cause below a millisecond.
 */
import { apiError, ApiError } from '../errors.ts'
import {
  ForgedNoticeError,
  ProviderError,
  type MethodName,
  type NoticeResponse,
  type Notices,
  type ReceivedNotice,
} from '../payments/payment-method.ts'
import { createPaymentMethods } from '../payments/payment-methods.ts'
import { ProviderHttp } from '../payments/provider-http.ts'
import type { AppContext } from './app-context.ts'
import { strangerAt, type BodyBudget } from './body.ts'
import { readRequest } from './body-receiver.ts'
import { FailedWebhooks } from './failed-webhooks.ts'

/** Some sites of epay append a slash. */
const pathPattern = /^\/api\/payments\/([a-z]+)\/notice\/?$/
const maxBytes = { form: 65_536, json: 262_144 } as const
const maxFields = 100

/** The method's name in the path of a webhook; undefined: another path. */
export function webhookMethodOf(path: string): string | undefined {
  return pathPattern.exec(path)?.[1]
}

export type WebhookRejection = 'size' | 'limit' | 'unsigned' | 'forged'

export interface PaymentWebhooksDeps {
  readonly ctx: Pick<AppContext, 'config' | 'currency' | 'payments'>
  readonly bodies: BodyBudget
  /** A webhook of a method that is configured was rejected. */
  readonly onRejected: (method: MethodName, reason: WebhookRejection) => void
}

interface Receiver {
  readonly method: MethodName
  readonly notices: Notices
}

export class PaymentWebhooks {
  readonly #deps: PaymentWebhooksDeps
  readonly #failed = new FailedWebhooks()
  #receivers: Promise<ReadonlyMap<string, Receiver>> | null = null

  constructor(deps: PaymentWebhooksDeps) {
    this.#deps = deps
  }

  /**
   * `address`: of the sender. Throws 404 for a method that is not configured or has no webhooks, 405 for HTTP methods that
   * no provider uses, and 400, 413 or 429 for a webhook that is not read further.
   */
  async receive(name: string, request: Request, address: string): Promise<Response> {
    const receiver = (await (this.#receivers ??= this.#openReceivers())).get(name)
    if (receiver === undefined)
      throw apiError('not_found', { message: 'This payment method is not configured.' })
    const { method } = request
    if (method !== 'GET' && method !== 'POST') throw apiError('method_not_allowed')
    if (!receiver.notices.httpMethods.includes(method)) throw apiError('not_found')
    const { status, contentType, body } = await this.#receive(receiver, request, { method, address })
    return new Response(status === 204 ? null : body, { status, headers: { 'content-type': contentType } })
  }

  async #openReceivers(): Promise<ReadonlyMap<string, Receiver>> {
    const { config, currency } = this.#deps.ctx
    const http = new ProviderHttp(config.paymentAllow)
    const methods = await createPaymentMethods({ config, currency, http, now: Date.now })
    const receivers = [...methods.values()].flatMap(({ name: method, notices }) =>
      notices === null ? [] : [[method, { method, notices }] as const],
    )
    return new Map(receivers)
  }

  async #receive(
    receiver: Receiver,
    request: Request,
    { method, address }: Pick<ReceivedNotice, 'method' | 'address'>,
  ): Promise<NoticeResponse> {
    const { bodies } = this.#deps
    const { notices } = receiver
    const headers = new Map(request.headers)
    if (this.#failed.isBlocked(address, Date.now())) throw await this.#reject(receiver, 'limit')
    if (notices.format === 'json' && !headers.has(notices.signatureName))
      throw await this.#fail(receiver, 'unsigned', address)
    const owner = strangerAt(address)
    const body = method === 'GET' ? Buffer.alloc(0) : await this.#readBody(receiver, request, owner)
    try {
      const query = new URL(request.url).search.slice(1)
      const notice = { method, query, headers, body, receivedAt: Date.now(), address }
      if (notices.format === 'form') await this.#checkForm(receiver, notice)
      return await this.#verify(receiver, notice)
    } finally {
      bodies.release(owner, body.length)
    }
  }

  async #readBody(receiver: Receiver, request: Request, owner: string): Promise<Buffer> {
    try {
      return await readRequest(request, this.#deps.bodies, {
        owner,
        maxBytes: maxBytes[receiver.notices.format],
      })
    } catch (error) {
      if (error instanceof ApiError && error.status === 413) throw await this.#reject(receiver, 'size')
      throw error
    }
  }

  /** Throws 413 for too many fields, and 400 without a signature, before anything is decoded. */
  async #checkForm(receiver: Receiver, { method, query, body, address }: ReceivedNotice): Promise<void> {
    const form = method === 'GET' ? query : Buffer.from(body).toString('latin1')
    if (form.split('&', maxFields + 1).length > maxFields) throw await this.#reject(receiver, 'size')
    const isSigned = `&${form}`.includes(`&${receiver.notices.signatureName}=`)
    if (!isSigned) throw await this.#fail(receiver, 'unsigned', address)
  }

  async #verify({ method, notices }: Receiver, notice: ReceivedNotice): Promise<NoticeResponse> {
    const { payments } = this.#deps.ctx
    try {
      await notices.read(notice)
    } catch (error) {
      if (error instanceof ProviderError) return notices.responseTo('retry')
      if (!(error instanceof ForgedNoticeError)) throw error
      await this.#fail({ method, notices }, 'forged', notice.address)
      return notices.responseTo('forged')
    }
    return payments.receiveNotice(method, notice)
  }

  /** Counts a webhook that did not prove itself, against its network and for operators. Returns the error of one without signature. */
  async #fail({ method }: Receiver, reason: 'unsigned' | 'forged', address: string): Promise<ApiError> {
    this.#deps.onRejected(method, reason)
    this.#failed.count(address, Date.now())
    await this.#deps.ctx.payments.countForgedNotice(method, address)
    return apiError('invalid_request', { message: 'The webhook has no signature.' })
  }

  /** It may have been genuine, so the orders that it could be about are checked. Returns the error. */
  async #reject({ method }: Receiver, reason: 'size' | 'limit'): Promise<ApiError> {
    this.#deps.onRejected(method, reason)
    await this.#deps.ctx.payments.checkOpenOrdersSoon(method)
    if (reason === 'size') return apiError('request_too_large', { message: 'The webhook is too large.' })
    const message = 'Too many webhooks without a valid signature came from this network.'
    return apiError('rate_limit_exceeded', { message, retryAfterMs: 60_000 })
  }
}
