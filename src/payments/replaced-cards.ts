/** Saved cards that another one has replaced, until they are removed at their provider. */
import type { Compilable } from 'kysely'
import type { Db } from '../db/db.ts'
import { fieldsOf, type RowFields } from '../db/row-fields.ts'
import { sql, type ReplacedCardsTable } from '../db/schema/schema.ts'
import type { PaymentMethod, SavedCard } from './payment-method.ts'

export type ReplacedCard = RowFields<ReplacedCardsTable>

type CardKey = Pick<ReplacedCard, 'method' | 'merchant' | 'cardId'>

/** The card that the account has now, unless it is this one. */
export function keepReplacedCard(account: string, card: SavedCard): Compilable {
  const columns = ['method', 'merchant', 'card_id', 'account_id', 'card_customer', 'card_last_four'] as const
  return sql
    .insertInto('replaced_cards')
    .columns([...columns])
    .expression(
      sql
        .selectFrom('automatic_recharges')
        .select([...columns])
        .where('account_id', '=', account)
        .where('card_id', 'is not', null)
        .where('card_id', '<>', card.card)
        .$narrowType<Pick<ReplacedCardsTable, (typeof columns)[number]>>(),
    )
    .onConflict((conflict) => conflict.doNothing())
}

/** Those that may be removed at their provider now. */
export async function dueReplacedCards(
  db: Db,
  { name, merchant }: Pick<PaymentMethod, 'name' | 'merchant'>,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<ReplacedCard[]> {
  const query = sql
    .selectFrom('replaced_cards')
    .selectAll()
    .where('method', '=', name)
    .where('merchant', '=', merchant)
    .where((build) => build.or([build('next_attempt_at', 'is', null), build('next_attempt_at', '<=', now)]))
    .limit(limit)
  return (await db.all(query)).map(fieldsOf)
}

/** It is removed at its provider, or saved again. */
export function forgetReplacedCard({ method, merchant, cardId }: CardKey): Compilable {
  return sql
    .deleteFrom('replaced_cards')
    .where('method', '=', method)
    .where('merchant', '=', merchant)
    .where('card_id', '=', cardId)
}

export function removeReplacedCardAt(
  { method, merchant, cardId }: CardKey,
  nextAttemptAt: number,
): Compilable {
  return sql
    .updateTable('replaced_cards')
    .set({ next_attempt_at: nextAttemptAt })
    .where('method', '=', method)
    .where('merchant', '=', merchant)
    .where('card_id', '=', cardId)
}
