/** Charges of saved cards without the payer. */
import type { ProviderOrder, SavedCard, SavedCards } from './payment-method.ts'
import { ProviderError } from './payment-method.ts'
import { toStripeAmount } from './stripe-amounts.ts'
import { type StripeClient, StripeRejection } from './stripe-client.ts'
import { chargeToExpand, factsOf } from './stripe-orders.ts'

type ChargeResult = Awaited<ReturnType<SavedCards['charge']>>

export class StripeCards implements SavedCards {
  readonly #client: StripeClient
  readonly #now: () => number

  constructor(client: StripeClient, now: () => number) {
    this.#client = client
    this.#now = now
  }

  async charge(order: ProviderOrder, card: SavedCard): Promise<ChargeResult> {
    const amount = toStripeAmount(order.amountMinor, order.currency)
    if (amount === null) return { state: 'declined', code: 'amount_invalid', needsPayer: false }
    try {
      return await this.#charge(order, card, amount)
    } catch (error) {
      if (!(error instanceof StripeRejection)) throw error
      // A card or customer that is gone cannot be charged: the payer has to give another one.
      const isGone = !error.isDecline && ['customer', 'payment_method'].includes(error.parameter ?? '')
      const needsPayer = isGone || error.code === 'authentication_required'
      return { state: 'declined', code: error.code, needsPayer }
    }
  }

  async #charge(order: ProviderOrder, card: SavedCard, amount: number): Promise<ChargeResult> {
    const intent = await this.#client.call((stripe) =>
      stripe.paymentIntents.create(
        {
          amount,
          currency: order.currency.toLowerCase(),
          customer: card.customer,
          payment_method: card.card,
          off_session: true,
          confirm: true,
          automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
          description: order.description,
          metadata: { order: order.id, automatic: 'true' },
          expand: [chargeToExpand],
        },
        { idempotencyKey: order.id },
      ),
    )
    if (intent.status === 'succeeded') {
      return { state: 'paid', payment: factsOf(intent, intent.metadata['order'], card) }
    }
    if (intent.status === 'processing') return { state: 'processing', reference: intent.id }
    if (intent.status === 'requires_action') {
      return { state: 'declined', code: 'authentication_required', needsPayer: true }
    }
    throw new ProviderError('Stripe’s payment has an unexpected state.')
  }

  /** Succeeds, too, if the card is already gone. */
  async remove({ card }: SavedCard): Promise<void> {
    try {
      const idempotencyKey = `${card}-detach-${this.#now()}`
      await this.#client.call((stripe) => stripe.paymentMethods.detach(card, {}, { idempotencyKey }))
    } catch (error) {
      // That a card is attached to nobody has no code of its own: only a read distinguishes it from other rejections.
      if (!(error instanceof StripeRejection) || !(await this.#isGone(card))) throw error
    }
  }

  async #isGone(card: string): Promise<boolean> {
    try {
      const { customer } = await this.#client.call((stripe) => stripe.paymentMethods.retrieve(card))
      return customer === null
    } catch (error) {
      if (error instanceof StripeRejection && error.code === 'resource_missing') return true
      throw error
    }
  }
}
