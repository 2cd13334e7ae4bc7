/** What a payment method promises, a method with its scripted provider, and the steps that their tests share. */
import assert from 'node:assert/strict'

import { readConfig } from '../../../src/config.ts'
import { newId } from '../../../src/lib/ids.ts'
import {
  ProviderError,
  type BillLine,
  type NoticeOutcome,
  type PaymentMethod,
  type ProviderOrder,
  type ProviderRefund,
  type ReceivedNotice,
  type RefundReading,
} from '../../../src/payments/payment-method.ts'
import type { PaymentMethodDeps } from '../../../src/payments/method-deps.ts'
import { ProviderHttp } from '../../../src/payments/provider-http.ts'
import type { NoticeFault, ProviderFaults, ScriptedNotice, ScriptedProvider } from './scripted-provider.ts'

export type MethodFactory = (deps: PaymentMethodDeps) => PaymentMethod | null

export interface OpenMethod extends AsyncDisposable {
  readonly method: PaymentMethod
  readonly provider: ScriptedProvider
}

export type FaultOf<Call extends keyof ProviderFaults> = NonNullable<ProviderFaults[Call]>

export interface MethodContract {
  readonly create: MethodFactory
  /** Starts a provider without orders. */
  readonly start: () => Promise<ScriptedProvider>
  /** Settings without which the others are incomplete. */
  readonly required: readonly string[]
  /** A change of the settings that `check` must report. */
  readonly wrongSettings: Readonly<Record<string, string>>
  /** Empty where `begin` asks no provider. */
  readonly createFaults: readonly FaultOf<'create'>[]
  readonly queryFaults: readonly FaultOf<'query'>[]
  /** Empty: the provider cannot close orders. */
  readonly closeFaults: readonly (FaultOf<'close'> | 'none')[]
  readonly refundFaults: Partial<Record<FaultOf<'refund'>, RefundReading['state'] | 'error'>>
  /** The provider knows refunds by our number, so that one sent twice is done once. */
  readonly refundsByNumber: boolean
  readonly billFaults: Partial<Record<FaultOf<'bill'>, 'error' | 'not-ready'>>
  readonly billsNameRefunds: boolean
  readonly noticeFaults: readonly NoticeFault[]
  readonly noticeResponses: Readonly<
    Record<NoticeOutcome, { readonly status: number; readonly body: RegExp }>
  >
  /** What a read states about a payment besides its amount. */
  readonly reported: readonly ('currency' | 'merchant')[]
}

/** What Alipay, WeChat Pay and the second version of epay have alike: numbers of refunds that are ours, and signed responses. */
export const signedContract = {
  createFaults: ['unreachable', 'refused', 'notice-first'],
  queryFaults: ['timeout', 'html', 'unsigned', 'bad-signature', 'server-error', 'flapping'],
  closeFaults: ['none', 'says-paid', 'timeout'],
  refundFaults: {
    timeout: 'error',
    processing: 'sent',
    refused: 'refused',
    abnormal: 'unclear',
    'odd-code': 'unclear',
  },
  refundsByNumber: true,
} as const satisfies Partial<MethodContract>

export interface OpenContract extends OpenMethod {
  readonly contract: MethodContract
}

/** By their titles, to be registered with `test`. */
export type MethodCases = Readonly<Record<string, (open: OpenContract) => Promise<void>>>

/** Creates a method as a relay with these settings does. Throws as it does. */
export function createMethod(
  create: MethodFactory,
  settings: Readonly<Record<string, string>>,
  now: () => number = Date.now,
): AsyncDisposable & { readonly method: PaymentMethod | null } {
  const config = readConfig({ ...settings })
  const http = new ProviderHttp(config.paymentAllow)
  const method = create({ config, currency: 'CNY', http, now })
  return { method, [Symbol.asyncDispose]: () => http[Symbol.asyncDispose]() }
}

/** The message of the error with which the start is refused; empty: it is not. */
export function startProblem(create: MethodFactory, settings: Readonly<Record<string, string>>): string {
  try {
    createMethod(create, settings)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

interface OpenOptions {
  /** In addition to those of the provider. */
  readonly settings?: Readonly<Record<string, string>>
  readonly now?: () => number
}

/** A scripted provider and the method that its settings configure; ended with the block that opened them. */
export function openWith<Provider extends ScriptedProvider>(
  provider: Provider,
  create: MethodFactory,
  { settings, now }: OpenOptions = {},
): OpenMethod & { readonly provider: Provider } {
  const created = createMethod(create, { ...provider.settings, ...settings }, now)
  const { method } = created
  assert.ok(method)
  return {
    method,
    provider,
    async [Symbol.asyncDispose]() {
      await created[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
    },
  }
}

export const openMethod = async (contract: MethodContract): Promise<OpenMethod> =>
  openWith(await contract.start(), contract.create)

/** A new order of 10.00. */
export function testOrder(method: PaymentMethod, changes: Partial<ProviderOrder> = {}): ProviderOrder {
  const createdAt = Date.now()
  const product = method.products[0] ?? null
  return {
    id: `S${newId('order').slice('order_'.length).toUpperCase()}`,
    product,
    amountMinor: 1000n,
    currency: method.currency,
    description: 'Balance',
    createdAt,
    expiresAt: createdAt + method.lifetimeMs(30 * 60_000, product),
    noticeUrl: method.notices === null ? null : `https://relay.example/api/payments/${method.name}/notice`,
    returnUrl: 'https://relay.example/billing',
    savesCard: false,
    reference: null,
    transaction: null,
    ...changes,
  }
}

/** Begins an order, and returns it with the provider's reference. */
export async function beginOrder(
  { method }: OpenMethod,
  changes: Partial<ProviderOrder> = {},
): Promise<ProviderOrder> {
  const order = testOrder(method, changes)
  const begun = await method.begin(order)
  assert.ok(begun.kind === 'begun', begun.kind)
  return { ...order, reference: begun.reference }
}

/** An order that was begun and paid; it names its transaction. */
export async function paidOrder(
  open: OpenMethod,
  changes: Partial<ProviderOrder> = {},
): Promise<ProviderOrder> {
  const order = await beginOrder(open, changes)
  return { ...order, transaction: open.provider.pay(order.id) }
}

export function refundOf(order: ProviderOrder, amountMinor: bigint): ProviderRefund {
  const id = `R${newId('refund').slice('refund_'.length).toUpperCase()}`
  return { id, order, amountMinor, description: 'Refund' }
}

/** Sends a refund until the provider has finished it; returns its last state. */
export async function sendRefund(
  { method, provider }: OpenMethod,
  refund: ProviderRefund,
): Promise<RefundReading['state']> {
  const sent = await method.refund(refund)
  if (sent.state !== 'sent') return sent.state
  provider.finishRefunds()
  return (await method.readRefund(refund)).state
}

/** Today's lines. */
export async function readBills({ bills }: PaymentMethod): Promise<BillLine[]> {
  assert.ok(bills)
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: bills.timezone }).format(Date.now())
  const lines: BillLine[] = []
  for await (const line of bills.list(today, today)) lines.push(line)
  return lines
}

export function receivedNotice({ method, query, headers, body }: ScriptedNotice): ReceivedNotice {
  return {
    method,
    query: query.replace(/^\?/, ''),
    headers: new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    body: Buffer.from(body),
    receivedAt: Date.now(),
    address: '127.0.0.1',
  }
}

/** The call says that nothing is known, and names no secret of the settings. */
export async function assertUnknown({ provider }: OpenMethod, call: Promise<unknown>): Promise<void> {
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof ProviderError, String(error))
    for (const [name, value] of Object.entries(provider.settings))
      if (/KEY|SECRET/.test(name) && !name.includes('PUBLIC'))
        assert.ok(!error.message.includes(value), `The message contains ${name}.`)
    return true
  })
}
