/**
 * Recomputes the ledger from its journal, from the first commit or from the present on, and compares the entries, request
 * rows, owners and open holds with it.
 */
import type { Db } from '../../db/db.ts'
import type { HoldRow, SharedOwnerRow } from '../../db/postgres/lock-batch.ts'
import { LedgerInvariantError } from '../../ledger/apply.ts'
import { encodeHold } from '../../ledger/checkpoint.ts'
import { decodeEvents } from '../../ledger/journal.ts'
import type { LedgerReport } from '../../ledger/report.ts'
import { emptyOwner } from '../../ledger/state.ts'
import { LedgerVerifier } from '../../ledger/verify.ts'
import { ownerToRow } from '../postgres/shared-rows.ts'
import { storedOwner } from '../sqlite/recovery.ts'
import type { LedgerSource, StartingPoint } from './ledger-source.ts'
import { PageReader, type LedgerEnd, type LedgerPage } from './page-reader.ts'

export class LedgerReplay {
  readonly verifier: LedgerVerifier
  #isBroken = false

  constructor({ state, dropped }: Pick<StartingPoint, 'state' | 'dropped'>) {
    this.verifier = new LedgerVerifier(state, dropped)
  }

  /** Applies the next page and compares its rows. Returns whether more can follow: a broken journal stays broken. */
  apply({ seqs, bodies, holds, rows, broken, isLast }: LedgerPage): boolean {
    if (this.#isBroken) return false
    try {
      for (const [index, body] of bodies.entries()) {
        const seq = seqs[index] ?? 0
        this.verifier.applyCommit({ seq, events: decodeEvents(body), holds: holds.get(seq) ?? null })
      }
      this.verifier.compareRows(rows)
      if (broken !== null) this.#break(broken)
    } catch (error) {
      if (!(error instanceof LedgerInvariantError)) throw error
      this.#break(error.message)
    }
    return !isLast && !this.#isBroken
  }

  /** Compares what is left after the last page, and reports all findings so far. */
  report({ rest, state }: LedgerEnd): LedgerReport {
    if (!this.#isBroken) {
      if ('rows' in rest) this.verifier.compareRows(rest.rows)
      else this.verifier.compareTotals(rest.totals)
    }
    if ('holds' in state) {
      compareOpenHolds(state.holds, this.verifier)
      compareHeldAmounts(state.owners, this.verifier)
    }
    return this.verifier.report(state.owners.map((row) => [row.id, storedOwner(row)] as const))
  }

  #break(finding: string): void {
    this.#isBroken = true
    this.verifier.addFinding(finding)
  }
}

function compareOpenHolds(rows: readonly HoldRow[], verifier: LedgerVerifier): void {
  const { holds } = verifier.state
  const found = new Map(rows.map((row) => [row.id, row.body]))
  for (const [id, hold] of holds) {
    if (found.get(id) !== encodeHold(hold))
      verifier.addFinding(`the hold ${id} differs from its row, or has none`)
  }
  for (const id of found.keys()) {
    if (!holds.has(id)) verifier.addFinding(`the row of hold ${id} belongs to no open hold`)
  }
}

function compareHeldAmounts(rows: readonly SharedOwnerRow[], verifier: LedgerVerifier): void {
  for (const row of rows) {
    const computed = ownerToRow(row.id, verifier.state.owners.get(row.id) ?? emptyOwner())
    const names = (['held_nanos', 'day_held_nanos', 'month_held_nanos', 'past'] as const).filter(
      (name) => computed[name] !== row[name],
    )
    if (names.length > 0)
      verifier.addFinding(`the row of ${row.id} differs from the journal in ${names.join(', ')}`)
  }
}

/** A replay with its reader on the same thread. */
export class LedgerVerification {
  readonly reader: PageReader
  readonly replay: LedgerReplay

  constructor(source: LedgerSource, start: StartingPoint) {
    this.reader = new PageReader(source, start)
    this.replay = new LedgerReplay(start)
  }

  /** Returns whether there are more pages. */
  async readPage(db: Db): Promise<boolean> {
    return this.replay.apply(await this.reader.next(db))
  }

  /** Reads to the end of every chain and compares. `db` must see a single snapshot. */
  async verify(db: Db): Promise<LedgerReport> {
    while (await this.readPage(db));
    return this.replay.report(await this.reader.readEnd(db))
  }
}

/** Verifies the whole ledger. `db` must see a single snapshot, so that journal and tables match. */
export async function verifyLedger(source: LedgerSource, db: Db): Promise<LedgerReport> {
  return new LedgerVerification(source, await source.readBeginning(db)).verify(db)
}
