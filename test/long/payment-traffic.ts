/**
 * Payers who order and pay, or do not; providers whose notices come often, late, in any order or never; forgers; refunds and
 * debits: all at once, at relays that come and go.
 */
import type { PaymentOrder } from '../../src/http/api/payment-orders.ts'
import type { PaymentRefund } from '../../src/http/api/payment-refunds.ts'
import { formatMinor } from '../../src/lib/currency.ts'
import { parseAmount } from '../../src/lib/money.ts'
import { newOrderId } from '../../src/payments/payment-orders.ts'
import {
  deliverNotice,
  type NoticeFault,
  type PaymentChanges,
  type ScriptedNotice,
  type ScriptedProvider,
} from '../support/payments/scripted-provider.ts'
import type { RelayProcess } from '../support/server/relay-process.ts'
import { refundFaults, type PaymentWorld } from './payment-world.ts'
import { scriptedDelay, waitUntil } from '../support/wait.ts'

const payers = 10
const senders = 8
const maxCopies = 20
const retryForMs = 60_000
const becomesPaidForMs = 5000
/** An outage of the database lasts less. */
const maxPauseMs = 600_000
const debit = '-0.5'

/** Forged at every provider; the others are genuine where notices are not dated. */
const alwaysForged: readonly NoticeFault[] = ['wrong-key', 'no-signature', 'altered-body']
const noticeFaults: readonly NoticeFault[] = [...alwaysForged, 'old', 'future', 'repeated-field']

interface QueuedNotice {
  readonly provider: ScriptedProvider
  readonly notice: ScriptedNotice
  readonly isForged: boolean
}

interface Received<Body> {
  readonly status: number
  readonly body: Body
}

type PayerBehaviour = (provider: ScriptedProvider, order: PaymentOrder) => Promise<void> | void

export interface LateOrder {
  readonly provider: ScriptedProvider
  readonly order: string
}

export class PaymentTraffic {
  /** Orders that nobody pays before their end. */
  readonly late: LateOrder[] = []
  /** Payments whose facts are not those of their orders, by the provider’s number. */
  readonly different = new Set<string>()
  /** What was debited besides refunds, in nanos, by account. */
  readonly debits = new Map<string, bigint>()
  /** Forged notices that a relay did not reject. */
  readonly acceptedForgeries: string[] = []
  orders = 0
  notices = 0
  readonly #world: PaymentWorld
  readonly #relays: () => readonly RelayProcess[]
  readonly #accounts: readonly string[]
  readonly #queue: QueuedNotice[] = []
  #begun = 0

  constructor(world: PaymentWorld, relays: () => readonly RelayProcess[], accounts: readonly string[]) {
    this.#world = world
    this.#relays = relays
    this.#accounts = accounts
  }

  /** Ends when all orders were made and that many notices were sent. */
  async run(orders: number, notices: number): Promise<void> {
    const paying = Array.from({ length: payers }, async () => {
      while (this.#begun < orders) await this.#order((this.#begun += 1))
    })
    const state = { isPaying: true }
    const sending = Array.from({ length: senders }, async () => {
      while (state.isPaying || this.#queue.length > 0 || this.notices < notices) {
        const next = this.#takeQueued() ?? (state.isPaying ? undefined : this.#repeated())
        if (next !== undefined) await this.#deliver(next)
        else await waitUntil(() => this.#queue.length > 0 || !state.isPaying, 'a notice', maxPauseMs)
      }
    })
    await Promise.all(paying)
    state.isPaying = false
    this.#world.calm()
    await Promise.all(sending)
  }

  /** Payments that arrive now, although their orders have ended. */
  payLate(): void {
    for (const { provider, order } of this.late) this.#pay(provider, order)
  }

  lateNotices(): QueuedNotice[] {
    return this.late.flatMap(({ provider, order }) => {
      const notice = this.#world.noticeOf(provider, order)
      return notice === undefined ? [] : [{ provider, notice, isForged: false }]
    })
  }

  async deliver(notices: readonly QueuedNotice[]): Promise<void> {
    for (const notice of notices) await this.#deliver(notice)
  }

  async #order(number: number): Promise<void> {
    const { prng } = this.#world
    const provider = prng.pick(this.#world.providers)
    const account = prng.pick(this.#accounts)
    const amount = formatMinor(BigInt(prng.between(1000, 30_000)), 'CNY')
    const body = { method: provider.method, amount, client_key: `order-${number}` }
    const made = await this.#repeat<PaymentOrder>('POST', `/accounts/${account}/orders`, body, () =>
      this.#world.disturb(provider),
    )
    if (made === undefined || made.status > 201 || made.body.state === 'failed') return
    this.orders += 1
    await this.#pickBehaviour()(provider, made.body)
    if (prng.bool(0.1)) this.#payUnknownOrder(provider)
    if (prng.bool(0.2)) await this.#debit(account, number)
  }

  #pickBehaviour(): PayerBehaviour {
    const { prng } = this.#world
    const at = prng.below(100)
    const behaviours: readonly [until: number, behaviour: PayerBehaviour][] = [
      [50, (provider, order) => this.#payAndRefund(provider, order)],
      // Its notices are lost.
      [60, (provider, { id }) => void this.#pay(provider, id)],
      [66, () => undefined],
      [74, (provider, order) => void this.late.push({ provider, order: order.id })],
      [82, (provider, order) => this.#payDifferently(provider, order)],
      [87, (provider, order) => this.#payElsewhere(provider, order)],
      [95, (provider, order) => this.#cancel(provider, order)],
      [100, (provider, order) => this.#paySlowly(provider, order)],
    ]
    const [, behaviour] = behaviours.find(([until]) => at < until) ?? [0, () => undefined]
    return behaviour
  }

  /** Nobody pays twice, or what the provider does not know. */
  #pay(provider: ScriptedProvider, order: string, changes?: PaymentChanges): string | undefined {
    const isPaid = provider.payments.some((payment) => payment.order === order)
    if (isPaid || !provider.orders.includes(order)) return undefined
    return provider.pay(order, changes)
  }

  async #payAndRefund(provider: ScriptedProvider, order: PaymentOrder): Promise<void> {
    this.#pay(provider, order.id)
    this.#queueNotices(provider, order.id)
    if (!this.#world.prng.bool(0.5) || !(await this.#becomesPaid(order))) return
    const first = await this.#refund(provider, order, { amount: '3.21' })
    const isFinal = first !== undefined && ['done', 'failed', 'refused'].includes(first.state)
    if (isFinal && this.#world.prng.bool(0.5)) await this.#refund(provider, order, {})
  }

  #payDifferently(provider: ScriptedProvider, { id, amount }: PaymentOrder): void {
    const amountMinor = BigInt(amount.replace('.', ''))
    const changes: PaymentChanges[] = [{ amountMinor: amountMinor + 1n }, { amountMinor: amountMinor - 1n }]
    if (provider.method !== 'epay') changes.push({ currency: 'HKD' })
    // Alipay’s query names no seller, and WeChat Pay’s bills have one merchant.
    if (provider.method !== 'alipay' && provider.method !== 'wechat') changes.push({ merchant: '9999' })
    const transaction = this.#pay(provider, id, this.#world.prng.pick(changes))
    if (transaction === undefined) return
    this.different.add(transaction)
    this.#queueNotices(provider, id)
  }

  /** A genuine payment at another provider, under the number of the order. */
  #payElsewhere(provider: ScriptedProvider, { id, amount }: PaymentOrder): void {
    const { prng, providers } = this.#world
    const other = prng.pick(providers.filter((each) => each !== provider))
    other.pay(id, { amountMinor: BigInt(amount.replace('.', '')) })
    this.#queueNotices(other, id)
  }

  #payUnknownOrder(provider: ScriptedProvider): void {
    const id = newOrderId()
    provider.pay(id, { amountMinor: 777n })
    this.#queueNotices(provider, id)
  }

  async #cancel(provider: ScriptedProvider, { id }: PaymentOrder): Promise<void> {
    await this.#call('POST', `/orders/${id}/cancel`)
    if (this.#world.prng.bool(0.5)) this.#pay(provider, id)
    this.#queueNotices(provider, id)
  }

  async #paySlowly(provider: ScriptedProvider, { id }: PaymentOrder): Promise<void> {
    const isPaid = provider.payments.some((payment) => payment.order === id)
    if (!isPaid && provider.orders.includes(id)) provider.process?.(id)
    this.#queueNotices(provider, id)
    await scriptedDelay(this.#world.prng.between(10, 500))
    this.#pay(provider, id)
    this.#queueNotices(provider, id)
  }

  #queueNotices(provider: ScriptedProvider, order: string): void {
    const { prng } = this.#world
    const add = (fault?: NoticeFault): void => {
      const notice = this.#world.noticeOf(provider, order, fault)
      const isForged = fault !== undefined && alwaysForged.includes(fault)
      if (notice !== undefined) this.#queue.push({ provider, notice, isForged })
    }
    for (let copies = prng.between(1, maxCopies); copies > 0; copies -= 1) add()
    for (let count = prng.below(6); count > 0; count -= 1) add(prng.pick(noticeFaults))
  }

  /** In any order. */
  #takeQueued(): QueuedNotice | undefined {
    if (this.#queue.length === 0) return undefined
    const index = this.#world.prng.below(this.#queue.length)
    const [taken] = this.#queue.splice(index, 1)
    return taken
  }

  /** A genuine notice about any payment, once more. */
  #repeated(): QueuedNotice | undefined {
    const { prng, providers } = this.#world
    const provider = prng.pick(providers)
    if (provider.payments.length === 0) return undefined
    const { order } = prng.pick(provider.payments)
    const notice = this.#world.noticeOf(provider, order)
    return notice && { provider, notice, isForged: false }
  }

  async #deliver({ provider: { method }, notice, isForged }: QueuedNotice): Promise<void> {
    const { url } = this.#world.prng.pick(this.#relays())
    const status = await deliverNotice(url, method, notice).then(
      (answer) => answer.status,
      // Killed: this notice is lost.
      () => 0,
    )
    this.notices += 1
    if (isForged && status >= 200 && status < 300) this.acceptedForgeries.push(`${method}: ${status}`)
  }

  async #becomesPaid({ id }: PaymentOrder): Promise<boolean> {
    const isPaid = async (): Promise<boolean> =>
      (await this.#call<PaymentOrder>('GET', `/orders/${id}`))?.body.state === 'paid'
    return waitUntil(isPaid, 'the payment', becomesPaidForMs).catch(() => false)
  }

  /** undefined: not known, or nothing could go back. It is never repeated: that would be a second refund. */
  async #refund(
    provider: ScriptedProvider,
    { id }: PaymentOrder,
    fields: object,
  ): Promise<PaymentRefund | undefined> {
    provider.faults = this.#world.prng.pick(refundFaults)
    const answer = await this.#call<PaymentRefund>('POST', `/orders/${id}/refunds`, {
      reason: 'unused',
      ...fields,
    })
    if (answer?.status !== 201) return undefined
    const notice = this.#world.refundNoticeOf(provider, answer.body.id)
    if (notice !== undefined) this.#queue.push({ provider, notice, isForged: false })
    return answer.body
  }

  async #debit(account: string, number: number): Promise<void> {
    const body = { amount: debit, reason: 'spent', idempotency_key: `debit-${number}` }
    const answer = await this.#repeat('POST', `/accounts/${account}/credits`, body)
    if (answer === undefined) throw new Error('A debit was never answered.')
    if (answer.status < 300) this.debits.set(account, (this.debits.get(account) ?? 0n) - parseAmount(debit))
  }

  /** undefined: no answer, or the store or the provider is unavailable. */
  async #call<Body>(method: string, path: string, body?: object): Promise<Received<Body> | undefined> {
    try {
      const response = await this.#world.prng.pick(this.#relays()).adminResponse(method, path, body)
      const answer = (await response.json()) as Body
      return response.status >= 500 ? undefined : { status: response.status, body: answer }
    } catch {
      return undefined
    }
  }

  async #repeat<Body>(
    method: string,
    path: string,
    body: object,
    before: () => void = () => undefined,
  ): Promise<Received<Body> | undefined> {
    const attempt = (): Promise<Received<Body> | undefined> => {
      before()
      return this.#call<Body>(method, path, body)
    }
    return waitUntil(attempt, 'an answer', retryForMs).catch(() => undefined)
  }
}
