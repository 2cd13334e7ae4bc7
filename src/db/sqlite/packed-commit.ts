/**
 * Packs a ledger commit for the store thread. There are thousands each second, and structured cloning of objects would
 * cost more than all other work on them, so the rows are sent as values in one JSON text.
 */
import { entryColumns, storedResponseColumns, ownerColumns, requestColumns } from '../journal.ts'
import type { CommitValues } from './journal-writer.ts'
import type { LedgerCommit, StoredResponseRow } from '../ledger-commit.ts'
import { isMoneyColumn } from '../money-columns.ts'
import type { Parameter } from '../statement.ts'

/** [seq, at, journal, rows as text, open holds, stored responses]. */
export type PackedCommit = readonly [
  number,
  number,
  string,
  string,
  string | null,
  readonly StoredResponseRow[] | null,
]

type Cell = string | number | null

/** Amounts are encoded as decimal text, because JSON numbers are not exact at their size. */
function packRows<Key extends string>(
  rows: readonly Readonly<Record<Key, Parameter>>[],
  columns: readonly Key[],
): Cell[][] {
  return rows.map((row) =>
    columns.map((column) => {
      const value: Parameter = row[column]
      if (typeof value === 'bigint') return value.toString()
      if (value instanceof Uint8Array) throw new TypeError(`${column} is not text, a number or null`)
      return value
    }),
  )
}

export function packCommit(commit: LedgerCommit): PackedCommit {
  const rows = [
    packRows(commit.entries, entryColumns),
    packRows(commit.owners, ownerColumns),
    packRows(commit.requests, requestColumns),
  ]
  const holds = commit.checkpoint?.holds ?? null
  const storedResponses = commit.storedResponses?.length ? commit.storedResponses : null
  return [commit.seq, commit.at, commit.journal, JSON.stringify(rows), holds, storedResponses]
}

const amountColumns = [entryColumns, ownerColumns, requestColumns].map((columns) =>
  columns.map(isMoneyColumn),
)

function unpackRows(rows: readonly Cell[][], isNanos: readonly boolean[] = []): Parameter[][] {
  return rows.map((row) =>
    row.map((cell, index) => (isNanos[index] === true && cell !== null ? BigInt(cell) : cell)),
  )
}

export function unpackCommit([seq, at, journal, text, holds, storedResponses]: PackedCommit): CommitValues {
  const [entries = [], owners = [], requests = []] = JSON.parse(text) as Cell[][][]
  return {
    seq,
    at,
    journal,
    entries: unpackRows(entries, amountColumns[0]),
    owners: unpackRows(owners, amountColumns[1]),
    requests: unpackRows(requests, amountColumns[2]),
    holds,
    storedResponses: storedResponses?.map((row) => storedResponseColumns.map((column) => row[column])) ?? [],
  }
}
