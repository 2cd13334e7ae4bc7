/** What turns automatic recharge on and off: the consent of the account's person, the saved card, and who removes it. */
import { auditStatement } from '../../db/audit.ts'
import { writeIfFound } from '../../db/db.ts'
import { apiError, invalidField, notFound } from '../../errors.ts'
import { formatMinor, parseMinor } from '../../lib/currency.ts'
import { formatAmount, parseAmount } from '../../lib/money.ts'
import {
  automaticRechargeOf,
  cardOf,
  consentVersion,
  endConsent,
  forgetCard,
  putConsent,
  rechargesWithCard,
} from '../../payments/automatic-recharges.ts'
import { dueReplacedCards, forgetReplacedCard, removeReplacedCardAt } from '../../payments/replaced-cards.ts'
import { ProviderError, type MethodName, type NoticeSubject } from '../../payments/payment-method.ts'
import { quoteOrder } from './create-order.ts'
import { requireMethod, type PaymentDeps } from './payment-deps.ts'
import { rechargeNotification } from './recharge-notifications.ts'

/** The actor in the audit log. */
export const rechargeActor = 'automatic-recharge'
const removalsPerRound = 50
const removeAgainAfterMs = 3_600_000

export interface ConsentInput {
  readonly account: string
  /** In the platform's currency. */
  readonly threshold: string
  /** This and the limit are in the currency of the method. */
  readonly amount: string
  readonly monthlyLimit: string
  /** The version of the text that the person has read. */
  readonly consentVersion: string
  /** The account's own person, as the audit log names it. */
  readonly by: string
}

/** Throws 400 naming the field, 404 if no method can charge saved cards. */
export async function recordConsent(deps: PaymentDeps, input: ConsentInput): Promise<void> {
  const { account, by } = input
  if (input.consentVersion !== consentVersion)
    throw invalidField('consent_version', `must be ${consentVersion}, the version of the current text`)
  const method = [...deps.methods.values()].find(({ savedCards }) => savedCards !== undefined)
  if (method === undefined)
    throw apiError('not_found', { message: 'Automatic recharge is not offered here.' })
  const { name, currency } = method
  const thresholdNanos = parseAmount(input.threshold, 'threshold')
  if (thresholdNanos <= 0n) throw invalidField('threshold', 'must be more than 0')
  const { amountMinor } = await quoteOrder(deps, { account, method: name, amount: input.amount })
  const monthlyLimitMinor = parseMinor(input.monthlyLimit, currency, 'monthly_limit')
  if (monthlyLimitMinor < amountMinor) throw invalidField('monthly_limit', 'must be at least the amount')
  const amounts = { thresholdNanos, amountMinor, monthlyLimitMinor }
  const consent = { ...amounts, accountId: account, method: name, currency, consentedBy: by }
  const detail = {
    threshold: formatAmount(thresholdNanos),
    amount: formatMinor(amountMinor, currency),
    monthly_limit: formatMinor(monthlyLimitMinor, currency),
    currency,
    consent_version: consentVersion,
  }
  await deps.db.write(
    putConsent(consent, deps.now()),
    auditStatement(by, 'automatic-recharge.consent', account, detail),
  )
}

/** A charge that is in flight is not stopped. Does nothing if it is off. */
export async function withdrawConsent({ db, now }: PaymentDeps, account: string, by: string): Promise<void> {
  await writeIfFound(db, endConsent(account, now()), auditStatement(by, 'automatic-recharge.end', account))
}

/** Switches it off, and removes the card at the provider. Throws 404 without a card, 503 if the provider cannot be asked. */
export async function removeSavedCard(deps: PaymentDeps, account: string, by: string): Promise<void> {
  const recharge = await automaticRechargeOf(deps.db, account)
  const card = recharge && cardOf(recharge)
  if (recharge === undefined || card === null || card === undefined) throw notFound('Saved card')
  await withdrawConsent(deps, account, by)
  try {
    await requireMethod(deps, recharge.method).savedCards?.remove(card)
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    throw apiError('payment_unavailable')
  }
  const audit = auditStatement(by, 'automatic-recharge.card-remove', account, { card: card.lastFour })
  await writeIfFound(deps.db, forgetCard(recharge, null, deps.now()), audit)
}

/** Removes at their providers the cards that others have replaced. One that cannot be removed is tried again later. */
export async function removeReplacedCards(deps: PaymentDeps, isStopped: () => boolean): Promise<void> {
  const { db, now, log } = deps
  for (const method of deps.methods.values()) {
    if (method.savedCards === undefined) continue
    for (const replaced of await dueReplacedCards(db, method, { now: now(), limit: removalsPerRound })) {
      if (isStopped()) return
      const { accountId, cardCustomer: customer, cardId: card, cardLastFour: lastFour } = replaced
      try {
        await method.savedCards.remove({ customer, card, lastFour })
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error
        log.warn({ account: accountId, problem: error.message }, 'replaced card could not be removed')
        await db.write(removeReplacedCardAt(replaced, now() + removeAgainAfterMs))
        // A provider that does not respond would delay the others of the round for as long as it takes to find out.
        break
      }
      const audit = auditStatement(rechargeActor, 'automatic-recharge.card-remove', accountId, {
        card: lastFour,
      })
      await writeIfFound(db, forgetReplacedCard(replaced), audit)
    }
  }
}

/** A card, or its customer, was removed at the provider. */
export async function receiveCardRemoval(
  deps: PaymentDeps,
  method: MethodName,
  removed: NoticeSubject & { readonly kind: 'card-removed' },
): Promise<void> {
  for (const recharge of await rechargesWithCard(deps.db, method, removed)) {
    const problem = { code: 'recharge_card_removed', period: recharge.cardId ?? '' } as const
    // Without a consent nothing ends of which the person would have to know.
    const isKnown = recharge.consentedAt === null
    await writeIfFound(
      deps.db,
      forgetCard(recharge, isKnown ? null : 'card_removed', deps.now()),
      ...(isKnown ? [] : [rechargeNotification(deps, recharge, problem)]),
    )
  }
}
