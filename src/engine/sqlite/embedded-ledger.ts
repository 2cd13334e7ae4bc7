/**
 * The store of a single relay: its whole state is in memory, so every operation is decided at once. What was decided is in
 * the commit `newest`.
 */
import type { Db } from '../../db/db.ts'
import type { StoredResponseRow } from '../../db/ledger-commit.ts'
import { sql } from '../../db/schema/schema.ts'
import type { Denial } from '../../ledger/caps.ts'
import { claimConflict, creditsOf, decide } from '../../ledger/decide.ts'
import { books } from '../../ledger/entries.ts'
import { accountOwner, ownerOf, type Owner } from '../../ledger/state.ts'
import type {
  ClaimConflict,
  CreditingKind,
  LedgerTransaction,
  Operation,
  OperationKind,
  Results,
} from '../../ledger/transaction.ts'
import { toValidText } from '../../lib/valid-text.ts'
import type { LedgerStore } from '../ledger-store.ts'
import { CommitQueue, type CommitIo } from './commit-queue.ts'
import { EndedClaims } from './ended-claims.ts'
import { PeriodReopening, type ReopeningDeps } from './period-reopening.ts'
import type { RecoveredLedger } from './recovery.ts'

export interface EmbeddedLedgerDeps extends CommitIo, Omit<ReopeningDeps, 'db'> {
  readonly monotonicNow: () => number
  readonly db: Pick<Db, 'first' | 'report' | 'write'>
}

/** The amount of a credit that an earlier process entered; `null`: none. */
async function storedAmount(db: Pick<Db, 'first'>, id: string): Promise<bigint | null> {
  const query = sql
    .selectFrom('entries')
    .select(['amount_nanos', 'debit'])
    .where('ref', 'in', [id, toValidText(id)])
  const row = await db.first(query.where('reason', 'is not', null))
  if (!row) return null
  return row.debit === books.funding ? row.amount_nanos : -row.amount_nanos
}

export class EmbeddedLedger extends CommitQueue implements LedgerStore, LedgerTransaction {
  readonly #db: EmbeddedLedgerDeps['db']
  readonly #endedClaims: EndedClaims
  readonly #reopening: PeriodReopening

  constructor(
    { state, lastCommit }: Pick<RecoveredLedger, 'state' | 'lastCommit'>,
    deps: EmbeddedLedgerDeps,
  ) {
    super(state, deps, lastCommit)
    this.#db = deps.db
    this.#endedClaims = new EndedClaims(deps.monotonicNow, lastCommit)
    this.#reopening = new PeriodReopening(this, deps)
  }

  check({
    hold,
    timezone,
    seenCommit = 0,
  }: Operation<'hold'>): Denial | ClaimConflict | 'unavailable' | null {
    if (this.#reopening.isPending(hold, timezone)) return 'unavailable'
    const conflict = hold.claim ? claimConflict(this, hold.account, hold.claim, seenCommit) : null
    if (conflict) return conflict
    return this.state.holds.has(hold.id) ? { kind: 'known' } : null
  }

  decide<Kind extends OperationKind>(operation: Operation<Kind>): Results[Kind] {
    return decide(this, operation)
  }

  mark(operation: Operation<'mark'>): undefined {
    decide(this, operation)
  }

  keepsOverruns(): Promise<boolean> {
    return Promise.resolve(false)
  }

  /** Credits of earlier processes are on the disk: each is loaded when it is requested again. */
  async enterCredit<Kind extends CreditingKind>(
    operation: Operation<Kind> & Operation<CreditingKind>,
  ): Promise<Results[Kind] | null> {
    const { ids } = creditsOf(operation)
    const areKnown = await Promise.all(ids.map((id) => this.#loadCredit(id)))
    if (!areKnown.includes(true) && !this.isAdmitting) return null
    const result = this.decide<Kind>(operation)
    // An attempt that failed because the disk was full may have entered it, so it may not be durable yet.
    await this.whenDurable(this.newest)
    return result
  }

  /** Returns whether the credit was entered before. */
  async #loadCredit(id: string): Promise<boolean> {
    const { credits } = this.state
    const name = toValidText(id)
    const stored = credits.has(name) ? null : await storedAmount(this.#db, id)
    if (stored !== null) credits.set(name, stored)
    return credits.has(name)
  }

  readOwners(ids: readonly string[]): Promise<readonly Owner[]> {
    return Promise.resolve(ids.map((id) => ownerOf(this.state, id)))
  }

  availableUnderHolds(): Promise<ReadonlyMap<string, bigint>> {
    const available = new Map<string, bigint>()
    for (const { account } of this.state.holds.values()) {
      const { balance, held } = ownerOf(this.state, accountOwner(account))
      available.set(account, balance - held)
    }
    return Promise.resolve(available)
  }

  storedBy(claim: string, seenCommit: number): number | null {
    return this.#endedClaims.storedBy(claim, seenCommit)
  }

  /** No hold outlives its node. */
  takeRetired(): undefined {}

  addStoredResponse(row: StoredResponseRow, claim: string): void {
    this.addResponseRow(row)
    this.#endedClaims.add(claim, this.newest)
  }

  /** Waits for what is being read. */
  close(): Promise<void> {
    return this.#reopening.close()
  }
}
