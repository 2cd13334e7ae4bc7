/** Credits of a single node. Those of earlier processes are on the disk: each is loaded when it is requested again. */
import { apiError } from '../../errors.ts'
import type { Db } from '../../db/db.ts'
import { sql } from '../../db/schema/schema.ts'
import type { Operation, Results } from '../../ledger/transaction.ts'
import { toValidText } from '../../lib/valid-text.ts'
import { books } from '../../ledger/entries.ts'
import type { CommitQueue } from './commit-queue.ts'
import type { CreditStore } from '../credits.ts'
import type { EmbeddedLedger } from './embedded-ledger.ts'

export interface EmbeddedCreditsDeps {
  readonly ledger: EmbeddedLedger
  readonly commits: Pick<CommitQueue, 'isAdmitting' | 'newest'>
  readonly db: Db
  readonly whenDurable: (commit: number) => Promise<void>
}

/** The amount of a credit that an earlier process entered; `null`: none. */
async function storedAmount(db: Db, id: string): Promise<bigint | null> {
  const query = sql
    .selectFrom('entries')
    .select(['amount_nanos', 'debit'])
    .where('ref', 'in', [id, toValidText(id)])
  const row = await db.first(query.where('reason', 'is not', null))
  if (!row) return null
  return row.debit === books.funding ? row.amount_nanos : -row.amount_nanos
}

export function embeddedCredits({ ledger, commits, db, whenDurable }: EmbeddedCreditsDeps): CreditStore {
  const { credits } = ledger.state
  const submit = async <Kind extends 'credit' | 'trial'>(
    id: string,
    operation: Operation<Kind>,
  ): Promise<Results[Kind]> => {
    const name = toValidText(id)
    const stored = credits.has(name) ? null : await storedAmount(db, id)
    if (stored !== null) credits.set(name, stored)
    if (!credits.has(name) && !commits.isAdmitting)
      throw apiError('service_unavailable', { retryAfterMs: 1000 })
    const result = ledger.decide(operation)
    // An attempt that failed because the disk was full may have entered it, so it may not be durable yet.
    await whenDurable(commits.newest)
    return result
  }
  return {
    credit: (credit) => submit(credit.id, { kind: 'credit', credit }),
    endTrial: (end) => submit(end.id, { kind: 'trial', end }),
  }
}
