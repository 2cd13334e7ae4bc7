/**
 * Repairs ledgers with text that is not valid, which earlier releases accepted: the journal's text becomes what the
 * column of its entry holds. That changes the hash of the commit, so the chain is computed anew from there on. Nothing else
 * changes: the chain must be intact before, and the whole ledger consistent after, or else nothing is changed.
 */
import type { Selectable } from 'kysely'
import { auditStatement } from '../db/audit.ts'
import type { Db } from '../db/db.ts'
import { chainGenesis, chainHash } from '../db/journal.ts'
import type { EntryRow } from '../db/ledger-commit.ts'
import type { LedgerRewriter, RewrittenCommit } from '../db/ledger-rewriter.ts'
import { sql, type EntriesTable } from '../db/schema/schema.ts'
import { checkNotMoved } from '../db/transfer/move-marker.ts'
import { entryRowsOf } from '../ledger/entries.ts'
import { decodeEvents } from '../ledger/journal.ts'
import { makeTextValid, type TextChange } from '../ledger/journal-text.ts'
import { escapeInvalidText, isValidText, toValidText } from '../lib/valid-text.ts'
import { postgresSource, readJournalNodes } from './verification/postgres-source.ts'
import { differingFields, verifyLedger, type LedgerReport } from './verification/replay.ts'
import { sqliteSource } from './verification/sqlite-source.ts'

const pageCommits = 200

export type StoreKind = 'sqlite' | 'postgres'

/** A text to change, or that was changed. */
export interface RepairedText extends TextChange {
  readonly table: 'journal' | 'entries'
  /** The number of the commit. */
  readonly commit: number
}

export interface TextRepair {
  readonly texts: readonly RepairedText[]
  /** How many commits get another hash. */
  readonly rehashed: number
  /** The verification after the repair; null: nothing was changed. */
  readonly ledger: LedgerReport | null
}

/** The ledger is inconsistent in another way, which a repair of texts must not hide. Nothing was changed. */
export class RepairRefusedError extends Error {
  constructor(finding: string) {
    super(`Nothing was changed, because the ledger is inconsistent in another way: ${finding}`)
    this.name = 'RepairRefusedError'
  }
}

interface StoredCommit {
  readonly seq: number
  /** The position in its chain. */
  readonly number: number
  readonly body: string
  readonly prev: Uint8Array
  readonly hash: Uint8Array
}

/** The next commits of a chain; the chain of a single relay has no node. */
function readCommits(db: Db, node: string | null, after: number): Promise<StoredCommit[]> {
  if (node === null) {
    const text = `select seq, seq as number, body, prev, hash from journal where seq > ? order by seq limit ${pageCommits}`
    return db.report({ sql: text, parameters: [after] })
  }
  return db.report({
    sql: `select seq, number, body, prev, hash from journal
      where node = ? collate "C" and number > ? order by number limit ${pageCommits}`,
    parameters: [node, after],
  })
}

/** The entry of a credit with valid text. */
function validEntry({ id: _id, seq: _seq, ref, reason, ...row }: Selectable<EntriesTable>): EntryRow {
  return { ...row, ref: toValidText(ref ?? ''), reason: reason === null ? null : toValidText(reason) }
}

class Repair {
  readonly #db: Db
  readonly #rewriter: LedgerRewriter | null
  readonly texts: RepairedText[] = []
  rehashed = 0

  /** Without a rewriter, nothing is changed. */
  constructor(db: Db, rewriter: LedgerRewriter | null) {
    this.#db = db
    this.#rewriter = rewriter
  }

  async repairChain(node: string | null): Promise<void> {
    let [number, before, after] = [0, chainGenesis, chainGenesis]
    for (;;) {
      const page = await readCommits(this.#db, node, number)
      const rewritten: RewrittenCommit[] = []
      for (const commit of page) {
        checkChain(commit, number, before)
        const valid = makeTextValid(commit.body)
        if (valid !== null) await this.#addCommit(commit.seq, valid)
        const hash = chainHash(after, valid?.body ?? commit.body)
        if (valid !== null || Buffer.compare(after, commit.prev) !== 0)
          rewritten.push({ seq: commit.seq, body: valid?.body ?? null, prev: after, hash })
        ;[number, before, after] = [commit.number, commit.hash, hash]
      }
      this.rehashed += rewritten.length
      if (rewritten.length > 0) await this.#rewriter?.updateCommits(rewritten)
      if (page.length < pageCommits) return
    }
  }

  async #addCommit(seq: number, { body, changes }: { body: string; changes: TextChange[] }): Promise<void> {
    for (const change of changes) this.texts.push({ table: 'journal', commit: seq, ...change })
    const entries = decodeEvents(body).flatMap((event) =>
      event.kind === 'credited' ? entryRowsOf(event, event.account) : [],
    )
    for (const [account, expected] of Map.groupBy(entries, (entry) => entry.account_id ?? '')) {
      const query = sql.selectFrom('entries').selectAll().where('account_id', '=', account)
      const rows = await this.#db.report(
        query.where('seq', '=', seq).where('kind', '=', 'credit').orderBy('id'),
      )
      compareEntries(seq, expected, rows.map(validEntry))
      for (const row of rows) await this.#repairEntry(row)
    }
  }

  /** SQLite keeps U+0000 in a column, too. */
  async #repairEntry(row: Selectable<EntriesTable>): Promise<void> {
    const { id, seq } = row
    const [ref, reason] = [toValidText(row.ref ?? ''), toValidText(row.reason ?? '')]
    const fields = [
      { field: 'ref', before: row.ref ?? '', after: ref },
      { field: 'reason', before: row.reason ?? '', after: reason },
    ].filter(({ before }) => !isValidText(before))
    if (fields.length === 0) return
    for (const field of fields) this.texts.push({ table: 'entries', commit: seq, ref, ...field })
    await this.#rewriter?.updateEntry({ id, ref, reason })
  }
}

/** Throws if the commit does not follow: then a new chain would hide that rows were changed. */
function checkChain({ seq, number, prev, body, hash }: StoredCommit, last: number, before: Uint8Array): void {
  const isIntact =
    number === last + 1 &&
    Buffer.compare(prev, before) === 0 &&
    Buffer.compare(hash, chainHash(prev, body)) === 0
  if (!isIntact) throw new RepairRefusedError(`the journal is broken at commit ${seq}.`)
}

/** Throws if the entries of the credits differ in more than text that is not valid. */
function compareEntries(seq: number, expected: readonly EntryRow[], found: readonly EntryRow[]): void {
  if (expected.length !== found.length)
    throw new RepairRefusedError(
      `commit ${seq} has ${found.length} credits in its entries, not ${expected.length}.`,
    )
  for (const [index, entry] of expected.entries()) {
    const differing = differingFields(entry, found[index] ?? entry)
    if (differing.length > 0)
      throw new RepairRefusedError(
        `the entry of ${escapeInvalidText(entry.ref ?? '')} in commit ${seq} differs in ${differing.join(', ')}.`,
      )
  }
}

async function repairAll(kind: StoreKind, db: Db, rewriter: LedgerRewriter | null): Promise<Repair> {
  await checkNotMoved(db)
  const repair = new Repair(db, rewriter)
  const chains = kind === 'sqlite' ? [null] : await readJournalNodes(db)
  for (const node of chains) await repair.repairChain(node)
  return repair
}

/** Finds what a repair would change. `db` must see a single snapshot. Throws RepairRefusedError. */
export async function findTextRepair(kind: StoreKind, db: Db): Promise<TextRepair> {
  const { texts, rehashed } = await repairAll(kind, db, null)
  return { texts, rehashed, ledger: null }
}

/** Repairs and verifies the ledger in the transaction of the rewriter, which must be rolled back if this rejects. */
export async function repairText(kind: StoreKind, rewriter: LedgerRewriter): Promise<TextRepair> {
  const { db } = rewriter
  const { texts, rehashed } = await repairAll(kind, db, rewriter)
  if (texts.length === 0) return { texts, rehashed, ledger: null }
  const ledger = await verifyLedger(kind === 'sqlite' ? sqliteSource : postgresSource, db)
  if (!ledger.ok) throw new RepairRefusedError(ledger.findings.join('; '))
  await db.write(auditStatement('command-line', 'ledger.repair', 'ledger', { texts: texts.length, rehashed }))
  return { texts, rehashed, ledger }
}
