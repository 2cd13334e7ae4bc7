/**
 * A payment provider of the tests' own: it signs as the real one does, and misbehaves by script. One file per method
 * implements this interface, so that one suite and one law run over all of them.
 */
import type { MethodName } from '../../../src/payments/payment-method.ts'

export interface ProviderFaults {
  /** The next calls that begin an order. `notice-first`: paid, with its notice delivered before the response. */
  create?: 'unreachable' | 'refused' | 'notice-first'
  /** Reads of orders. `flapping`: unpaid once, then the truth. */
  query?: 'timeout' | 'html' | 'unsigned' | 'bad-signature' | 'server-error' | 'flapping'
  /** `says-paid`: the payer was faster than the close, and it is paid then. */
  close?: 'says-paid' | 'timeout'
  refund?: 'timeout' | 'processing' | 'refused' | 'abnormal' | 'odd-code'
  bill?: 'missing' | 'short' | 'wrong-hash' | 'html'
}

/** How a payment or a notice differs from a genuine one of the order. */
export interface PaymentChanges {
  readonly amountMinor?: bigint
  readonly currency?: string
  readonly merchant?: string
  readonly transaction?: string
  /** A coupon of the provider: the payer paid less, and the order's amount is the same. */
  readonly couponMinor?: bigint
}

export type NoticeFault = 'wrong-key' | 'no-signature' | 'old' | 'future' | 'altered-body' | 'repeated-field'

/** A notice as the provider sends it; the test delivers it, as often and in whatever order it wants. */
export interface ScriptedNotice {
  readonly method: 'GET' | 'POST'
  /** Appended to the notice URL, with `?`; empty for a POST. */
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface GenuinePayment {
  readonly order: string
  readonly transaction: string
  readonly amountMinor: bigint
  readonly refundedMinor: bigint
}

export interface ScriptedProvider extends AsyncDisposable {
  readonly method: MethodName
  /** The settings of a relay that uses it, with PAYMENT_ALLOW. */
  readonly settings: Readonly<Record<string, string>>
  /** Applies until it is changed. */
  faults: ProviderFaults
  /** Every order that a relay began here, or that a payer would have opened (Alipay's page). */
  readonly orders: readonly string[]
  /** The payer pays; returns the provider's transaction. Sends no notice. An unknown order is paid, too, if `amountMinor` is given. */
  pay(order: string, changes?: PaymentChanges): string
  /** The payer has paid by a slow means. Only where the provider has such. */
  process?(order: string): void
  /** A notice about the present state of the order. */
  notice(order: string, fault?: NoticeFault): ScriptedNotice
  /** A notice about a refund by our number, or by the provider's reference. */
  refundNotice?(refund: string): ScriptedNotice
  /** Somebody refunds in the provider's own pages; returns the provider's reference. */
  refundElsewhere(order: string, amountMinor: bigint): string
  /** Every refund in `processing` becomes done. */
  finishRefunds(): void
  /** All payments that the provider has, for the law. */
  readonly payments: readonly GenuinePayment[]
}

/** Sends a notice to a relay; returns its status and body. */
export async function deliverNotice(
  relayUrl: string,
  method: MethodName,
  notice: ScriptedNotice,
): Promise<{ readonly status: number; readonly body: string }> {
  const { method: httpMethod, query, headers, body } = notice
  const init = httpMethod === 'GET' ? { method: 'GET', headers } : { method: 'POST', headers, body }
  const response = await fetch(`${relayUrl}/api/payments/${method}/notice${query}`, init)
  return { status: response.status, body: await response.text() }
}
