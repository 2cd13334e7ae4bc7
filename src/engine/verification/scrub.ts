/**
 * Scrubs: verifications of everything, also of what was there before the monitor started. They work in steps of a few
 * milliseconds with longer pauses, because there may be tens of millions of rows while callers are served. Each step reads
 * its own snapshot, so that nothing waits for them and no snapshot gets old.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../../db/db.ts'
import { joinSum, splitSumSql } from '../../db/money-sums.ts'
import { deletedUpToSql } from '../../db/retention/delete-requests.ts'
import { sql, type OwnersTable } from '../../db/schema/schema.ts'
import { accountBook } from '../../ledger/entries.ts'
import type { LedgerReport } from '../../ledger/report.ts'
import { accountOwner } from '../../ledger/state.ts'
import { LedgerVerifier } from '../../ledger/verify.ts'
import { beforeFirstRows, type LedgerSource, type ReadSnapshot } from './ledger-source.ts'
import { LedgerVerification } from './replay.ts'

/** null: the scrub is void because rows that it had read are gone, and must start again. */
export type Scrub = (source: LedgerSource, read: ReadSnapshot) => Promise<LedgerReport | null>

/** Nanos by name. */
type Sums = Map<string, bigint>

/** The balance of each book, and the charges of each account. */
interface EntrySums {
  readonly books: Sums
  readonly charges: Sums
}

/** A few milliseconds of work. */
const rowsPerSum = 5000
const rowsPerCount = 20_000
/** How much longer than a step the pause after it is: a scrub uses a fifth of one core. */
export const pauseFactor = 4
const afterLastRow = Number.MAX_SAFE_INTEGER

interface SumRow {
  readonly sum_yuan: number
  readonly sum_rest_nanos: bigint
}

function addTo(sums: Sums, name: string, nanos: bigint): void {
  sums.set(name, (sums.get(name) ?? 0n) + nanos)
}

/** Runs one step after another up to a number; each returns how far it came. */
async function forEachStep(last: number, step: (after: number) => Promise<number>): Promise<void> {
  let after = beforeFirstRows.entryId
  while (after < last) {
    const startedAt = performance.now()
    after = await step(after)
    if (after < last) await delay((performance.now() - startedAt) * pauseFactor)
  }
}

const stepEnd = (after: number, last: number, rows: number): number =>
  Math.min(last, Math.max(after, 0) + rows)

/** The position before the next row, after a step without rows: numbers may have gaps of any size. */
async function skipGap(
  db: Db,
  table: 'entries' | 'requests',
  [after, last]: readonly [after: number, last: number],
): Promise<number> {
  const key = table === 'entries' ? 'id' : 'row_id'
  const text = `select min(${key}) as next from ${table} where ${key} > ?`
  const [row] = await db.report<{ next: number | null }>({ sql: text, parameters: [after] })
  return Math.min(last, Math.max(after, (row?.next ?? last + 1) - 1))
}

type EntrySumRow = SumRow & { debit: string; credit: string; kind: string; account_id: string | null }

/** The sums of the entries in this range. */
function readEntrySums(db: Db, range: readonly number[]): Promise<EntrySumRow[]> {
  return db.report({
    sql: `select debit, credit, kind, account_id, ${splitSumSql('amount_nanos', 'sum')} from entries
      where id > ? and id <= ? group by debit, credit, kind, account_id`,
    parameters: range,
  })
}

function addEntries({ books, charges }: EntrySums, rows: readonly EntrySumRow[]): void {
  for (const row of rows) {
    const nanos = joinSum(row.sum_yuan, row.sum_rest_nanos)
    addTo(books, row.debit, -nanos)
    addTo(books, row.credit, nanos)
    if (row.kind === 'charge') addTo(charges, row.account_id ?? '', nanos)
  }
}

/** The sums of the entries up to this number. */
export async function sumEntries(read: ReadSnapshot, lastId: number): Promise<EntrySums> {
  const sums: EntrySums = { books: new Map(), charges: new Map() }
  await forEachStep(lastId, async (after) => {
    const { rows, end } = await read(async (db) => {
      const end = stepEnd(after, lastId, rowsPerSum)
      const rows = await readEntrySums(db, [after, end])
      return { rows, end: rows.length > 0 ? end : await skipGap(db, 'entries', [end, lastId]) }
    })
    addEntries(sums, rows)
    return end
  })
  return sums
}

/** The costs of the request rows in this range, by account. */
function readCosts(db: Db, range: readonly number[]): Promise<(SumRow & { account_id: string })[]> {
  return db.report({
    sql: `select account_id, ${splitSumSql('cost_nanos', 'sum')} from requests
      where row_id > ? and row_id <= ? group by account_id`,
    parameters: range,
  })
}

function addCosts(sums: Sums, rows: Awaited<ReturnType<typeof readCosts>>): void {
  for (const row of rows) addTo(sums, row.account_id, joinSum(row.sum_yuan, row.sum_rest_nanos))
}

/** The number up to which request rows are deleted. */
export async function lastDeletedRow(db: Db): Promise<number> {
  const [dropped] = await db.report<{ position: number }>({ sql: deletedUpToSql, parameters: [] })
  return dropped?.position ?? 0
}

/** The costs of requests up to this row, by account, including deleted ones. */
export async function sumRequestCosts(read: ReadSnapshot, lastRow: number): Promise<Sums> {
  let sums: Sums = new Map()
  await forEachStep(lastRow, async (after) => {
    const { deleted, end, costs } = await read(async (db) => {
      const position = await lastDeletedRow(db)
      // All rows that were read so far are deleted, and contained in these sums.
      const mustRestart = position > after
      const deleted = mustRestart ? await db.report(sql.selectFrom('dropped_bills').selectAll()) : null
      const end = stepEnd(Math.max(after, position), lastRow, rowsPerSum)
      const costs = await readCosts(db, [mustRestart ? beforeFirstRows.rowId : after, end])
      return { deleted, costs, end: costs.length > 0 ? end : await skipGap(db, 'requests', [end, lastRow]) }
    })
    if (deleted) sums = new Map(deleted.map((row) => [row.account_id, row.cost_nanos]))
    addCosts(sums, costs)
    return end
  })
  return sums
}

const absoluteDifference = (one: bigint, other: bigint): bigint => (one > other ? one - other : other - one)

/** Reports where the sums differ from the balances of the accounts, or from each other. All must be of the same snapshot. */
function compareSums(
  owners: readonly OwnersTable[],
  { books, charges }: EntrySums,
  costs: Sums,
): LedgerReport {
  const verifier = new LedgerVerifier()
  const accounts = owners.filter(({ id }) => id.startsWith(accountOwner('')))
  const balances = new Map(
    accounts.map((row) => [accountBook(row.id.slice(accountOwner('').length)), row.balance_nanos]),
  )
  for (const book of new Set([...balances.keys(), ...books.keys()])) {
    if (!book.startsWith(accountBook(''))) continue
    const [sum, balance] = [books.get(book) ?? 0n, balances.get(book) ?? 0n]
    const message = `the entries of ${book} sum to ${sum}, its balance is ${balance}`
    if (sum !== balance) verifier.addFinding(message, absoluteDifference(sum, balance))
  }
  for (const account of new Set([...charges.keys(), ...costs.keys()])) {
    const drift = absoluteDifference(charges.get(account) ?? 0n, costs.get(account) ?? 0n)
    const message = `the entries and the request rows of ${account} differ by ${drift} nanos`
    if (drift > 0n) verifier.addFinding(message, drift)
  }
  return verifier.report([])
}

/**
 * Compares the sums of all entries and all request rows, by account, with the balances and with each other. Sums up to
 * settled ends do not change: entries are never deleted, and the cost of a request row is counted when it is deleted.
 */
export const scrubSums: Scrub = async (source, read) => {
  const marks = await source.readHighWaterMarks(read)
  // All rows may be gone, although the last one is never deleted for its age.
  const ends = { ...marks, rowId: Math.max(marks.rowId, await read(lastDeletedRow)) }
  const heads = await read((db) => source.readHeads(db))
  const entries = await sumEntries(read, ends.entryId)
  const costs = await sumRequestCosts(read, ends.rowId)
  const rest = await read(async (db) => {
    // Commits were lost, or rows were deleted that are not in the sums yet.
    if (!(await source.containsHeads(db, heads)) || (await lastDeletedRow(db)) > ends.rowId) return null
    const entries = await readEntrySums(db, [ends.entryId, afterLastRow])
    const costs = await readCosts(db, [ends.rowId, afterLastRow])
    return { entries, costs, owners: await db.report(sql.selectFrom('owners').selectAll()) }
  })
  if (rest === null) return null
  addEntries(entries, rest.entries)
  addCosts(costs, rest.costs)
  return compareSums(rest.owners, entries, costs)
}

async function countEntries(db: Db, range: readonly number[]): Promise<number> {
  const text = 'select count(*) as entries from entries where id > ? and id <= ?'
  const [row] = await db.report<{ entries: number }>({ sql: text, parameters: range })
  return row?.entries ?? 0
}

interface EntryCount {
  readonly entries: number
  readonly last: number
}

/** Counts the next entries, up to `lastId`. */
async function countNext(db: Db, { entries, last }: EntryCount, lastId: number): Promise<EntryCount> {
  const end = stepEnd(last, lastId, rowsPerCount)
  const more = await countEntries(db, [last, end])
  return { entries: entries + more, last: more > 0 ? end : await skipGap(db, 'entries', [end, lastId]) }
}

/**
 * Verifies the journal from its first commit, with the entries and bills of each, as `sluice verify` does. Commits that
 * were added since the start are read without pauses; otherwise the scrub might never end.
 */
export const scrubJournal: Scrub = async (source, read) => {
  const { entryId } = await source.readHighWaterMarks(read)
  const heads = await read((db) => source.readHeads(db))
  const verification = new LedgerVerification(source, await read((db) => source.readBeginning(db)))
  const { reader, replay } = verification
  let counted: EntryCount = { entries: 0, last: beforeFirstRows.entryId }
  for (let isMore = true; isMore;) {
    const startedAt = performance.now()
    isMore = await read((db) => verification.readPage(db))
    counted = await read((db) => countNext(db, counted, entryId))
    isMore ||= counted.last < entryId
    if (isMore && !reader.hasReached(heads)) await delay((performance.now() - startedAt) * pauseFactor)
  }
  const end = await read(async (db) => {
    if (!(await reader.isHistoryIntact(db))) return null
    while (await verification.readPage(db));
    const entries = counted.entries + (await countEntries(db, [entryId, afterLastRow]))
    return { state: await source.readState(db), entries }
  })
  if (end === null) return null
  // Not in the read, which may run again: totals are compared once.
  return replay.report({
    state: end.state,
    rest: { totals: { ...replay.verifier.totals, entries: end.entries } },
  })
}
