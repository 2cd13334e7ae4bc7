/**
 * How money comes in: one interface for every payment method, each in a file of its own. A method translates between the
 * relay and its provider, and verifies what the provider says. It stores nothing, and decides nothing about balances:
 * `engine/payments/` does. All amounts are whole minor units (fen, cents) of the order's currency.
 */

import { methodNames, type MethodName } from '../config/payments.ts'

export { methodNames, type MethodName }

/** An order as its provider knows it, or will know it. The row is written before a provider is asked. */
export interface ProviderOrder {
  /** `S` and 26 characters of Crockford's base32 in upper case: valid at every provider. */
  readonly id: string
  /** One of the method's `products`; null if it has none. */
  readonly product: string | null
  /** What the payer pays, with the fee. */
  readonly amountMinor: bigint
  readonly currency: string
  /** Shown to the payer by the provider. Contains no text of users. */
  readonly description: string
  readonly createdAt: number
  readonly expiresAt: number
  /** Where the provider sends notices; null for a method without them. */
  readonly noticeUrl: string | null
  /** Where the payer's browser returns to. It proves nothing about the payment. */
  readonly returnUrl: string
  /** The payer agreed to save the card for automatic recharges. */
  readonly savesCard?: boolean
  /** The relay charges a saved card; no payer has begun it. */
  readonly automatic?: boolean
  /** The provider's own id of the order, if it gave one, such as that of a session. */
  readonly reference: string | null
  /** The provider's number of the payment; null: not paid. */
  readonly transaction: string | null
}

/** How the payer pays: `url` is navigated to, `qr` is the text of a QR code, `text` is shown. */
export type PayInstruction =
  | { readonly kind: 'redirect'; readonly url: string }
  | { readonly kind: 'qr'; readonly qr: string }
  | { readonly kind: 'bank'; readonly text: string }

export type BegunOrder =
  | { readonly kind: 'begun'; readonly reference: string | null; readonly pay: PayInstruction }
  /** The provider refused the order for good. `reason` is shown to the payer and contains no secret. */
  | { readonly kind: 'refused'; readonly reason: string }

/** A payment, as the provider itself has confirmed it. Everything here is compared with the order. */
export interface PaymentFacts {
  /** Our id of the order, as the provider knows it. */
  readonly order: string
  readonly merchant: string
  readonly currency: string
  /** The amount of the order, before coupons of the provider. */
  readonly amountMinor: bigint
  /** The provider's number: unique per merchant, and what refunds name. */
  readonly transaction: string
  readonly paidAt: number | null
  /** SHA-256 of what identifies the payer at the provider (card fingerprint, buyer id), in hex; null: unknown. */
  readonly payer: string | null
  /** A card that may be charged again, if the payer agreed. */
  readonly savedCard: SavedCard | null
}

export interface SavedCard {
  readonly customer: string
  readonly card: string
  readonly lastFour: string
}

/** What a verified read of an order says. */
export type OrderReading =
  | { readonly state: 'paid'; readonly payment: PaymentFacts }
  /** Not paid, and it still can be. Also: the provider does not know the order (yet). */
  | { readonly state: 'unpaid' }
  /** The payer has paid by a slow means, and the provider does not have the money yet. */
  | { readonly state: 'processing' }
  /** It can no longer be paid. */
  | { readonly state: 'closed' }

export interface ProviderRefund {
  /** Ours: the provider refunds once under it. */
  readonly id: string
  readonly order: ProviderOrder
  readonly amountMinor: bigint
  /** Contains no text of users. */
  readonly description: string
}

export type RefundReading =
  | { readonly state: 'done'; readonly reference: string | null }
  /** The provider has accepted it and has not finished. */
  | { readonly state: 'sent'; readonly reference: string | null }
  /** Nobody can be asked: an operator sends the money, and then says so. */
  | { readonly state: 'manual' }
  /** Refused for good: the balance is given back. */
  | { readonly state: 'refused'; readonly reason: string }
  /** The provider does not know the refund: it may be sent again under its number. */
  | { readonly state: 'absent' }
  /** The response cannot be understood, and asking again could refund twice: an operator decides. */
  | { readonly state: 'unclear'; readonly reason: string }

/** A notice as received. Nothing of it is logged. */
export interface ReceivedNotice {
  readonly method: 'GET' | 'POST'
  /** Without `?`. */
  readonly query: string
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Uint8Array
  readonly receivedAt: number
  /** Of the sender. */
  readonly address: string
}

/** What a genuine notice is about. It is never believed: what it names is read. */
export type NoticeSubject =
  | {
      readonly kind: 'order'
      readonly order: string
      /** The payment that it states; null: none, or not in full. */
      readonly payment: Pick<PaymentFacts, 'transaction' | 'amountMinor'> | null
    }
  | ({ readonly kind: 'refund' } & NamedRefund)
  | { readonly kind: 'dispute'; readonly reference: string }
  | { readonly kind: 'card-removed'; readonly customer: string; readonly card: string | null }
  /** Genuine, and of no interest. */
  | { readonly kind: 'other' }

/** `refund`: our number, or another one; null: none is stated. `reference`: the provider's id of it. */
export interface NamedRefund {
  readonly refund: string | null
  readonly reference: string
  readonly transaction: string
}

/** `accepted`: it need not come again. `retry`: it should. `forged`: its signature is wrong. */
export type NoticeOutcome = 'accepted' | 'retry' | 'forged'

export interface NoticeResponse {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

export interface Notices {
  readonly httpMethods: readonly ('GET' | 'POST')[]
  readonly format: 'form' | 'json'
  /** Where the signature is: the field of a form, or the header of JSON. */
  readonly signatureName: string
  /** Verifies the signature. Throws `ForgedNoticeError`. */
  read(notice: ReceivedNotice): Promise<NoticeSubject>
  responseTo(outcome: NoticeOutcome): NoticeResponse
}

/** A refund as the provider has confirmed it. */
export interface RefundFacts {
  readonly transaction: string
  readonly currency: string
  readonly amountMinor: bigint
}

/** A dispute (chargeback) as the provider has confirmed it. */
export interface DisputeFacts extends RefundFacts {
  readonly reference: string
  readonly state: 'open' | 'won' | 'lost'
}

/** One line of a provider's own list of payments. */
export type BillLine =
  | {
      readonly kind: 'payment'
      /** Our id of the order; null: none is stated. */
      readonly order: string | null
      readonly transaction: string
      readonly currency: string
      readonly amountMinor: bigint
      readonly feeMinor: bigint | null
      readonly at: number
    }
  | {
      readonly kind: 'refund'
      /** Our id of the refund; null: made in the provider's own pages, or not stated. */
      readonly refund: string | null
      readonly reference: string
      readonly transaction: string
      readonly currency: string
      readonly amountMinor: bigint
      readonly at: number
    }
  | {
      readonly kind: 'dispute'
      readonly reference: string
      readonly transaction: string
      readonly currency: string
      readonly amountMinor: bigint
      readonly at: number
    }

export interface Bills {
  /** The days of its lists: an IANA time zone. */
  readonly timezone: string
  /** Whether its lists have refunds. */
  readonly listsRefunds: boolean
  /** Whether the current day can be listed, too. */
  readonly includesToday: boolean
  /** `from` and `to` are days (`2026-11-28`), both included. Complete, or throws `BillNotReadyError` or `ProviderError`. */
  list(from: string, to: string): AsyncIterable<BillLine>
}

/** Charges of a saved card without the payer (automatic recharge). */
export interface SavedCards {
  /** `declined`: `needsPayer` says that the payer must pay on a page. A `ProviderError` means: unknown, ask again. */
  charge(
    order: ProviderOrder,
    card: SavedCard,
  ): Promise<
    | { readonly state: 'paid'; readonly payment: PaymentFacts }
    | { readonly state: 'processing'; readonly reference: string }
    | { readonly state: 'declined'; readonly code: string; readonly needsPayer: boolean }
  >
  remove(card: SavedCard): Promise<void>
}

/**
 * A payment method that is configured. Every call that asks the provider throws a `ProviderError` if there was no response
 * that can be verified: then nothing is known, and nothing is concluded.
 */
export interface PaymentMethod {
  readonly name: MethodName
  /** Identifies who receives the money, in the ids of credits: two accounts at a provider may count alike. */
  readonly merchant: string
  readonly currency: string
  /** The first is the default; empty: there is no choice. */
  readonly products: readonly string[]
  /** What amounts of a currency must be a multiple of, in minor units; absent: any amount can be paid. */
  amountStep?(currency: string): bigint
  /** How long an order of this product may be paid. `configuredMs`: PAYMENT_EXPIRY. */
  lifetimeMs(configuredMs: number, product: string | null): number
  /** Begins an order, or finds what an earlier call with the same order began. */
  begin(order: ProviderOrder): Promise<BegunOrder>
  read(order: ProviderOrder): Promise<OrderReading>
  /** Ends an order that was read as unpaid. `paid`: it has been paid in between, read it again. `unsupported`: the provider cannot. */
  close(order: ProviderOrder): Promise<'closed' | 'paid' | 'unsupported'>
  /** Sends a refund; repeated under the same number it refunds once. */
  refund(refund: ProviderRefund): Promise<RefundReading>
  readRefund(refund: ProviderRefund): Promise<RefundReading>
  /** A harmless read that shows whether the credentials work: null, or the problem without secrets. */
  check(): Promise<string | null>
  readonly notices: Notices | null
  readonly bills: Bills | null
  readonly savedCards?: SavedCards
  readDispute?(reference: string): Promise<DisputeFacts>
  /** Reads a refund that the relay has not made; null: its money does not go back. For methods whose notices name refunds. */
  readNamedRefund?(named: NamedRefund): Promise<RefundFacts | null>
}

/** The provider gave no response that can be verified. The message names no secret and no payer. */
export class ProviderError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ProviderError'
  }
}

/** There was no response at all, in time. */
export class NoResponseError extends ProviderError {}

/** For `check`: that a provider gives no response that can be verified is a problem, too. */
export async function problemOf(ask: () => Promise<string | null>): Promise<string | null> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof ProviderError) return error.message
    throw error
  }
}

/** A list is not ready; asking again in an hour helps. */
export class BillNotReadyError extends Error {}

/** The signature of a notice is wrong, or it is too old, or its form is not allowed. */
export class ForgedNoticeError extends Error {}
