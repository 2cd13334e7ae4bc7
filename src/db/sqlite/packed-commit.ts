/**
 * A ledger commit on its way to the store thread. Thousands travel each second, and copying objects field by field
 * between threads costs more than all else that is done with them: so the rows travel as values, in one text.
 */
import { entryColumns, keptColumns, ownerColumns, requestColumns, type CommitValues } from '../journal.ts'
import type { LedgerCommit, PackedCommit, Parameter } from '../messages.ts'

type Cell = string | number | null

/** Amounts travel as decimal text: JSON has no whole numbers of their size. */
function cellsOf<Key extends string>(
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

export function packedCommit(commit: LedgerCommit): PackedCommit {
  const rows = [
    cellsOf(commit.entries, entryColumns),
    cellsOf(commit.owners, ownerColumns),
    cellsOf(commit.requests, requestColumns),
  ]
  const holds = commit.checkpoint?.holds ?? null
  const kept = commit.kept?.length ? commit.kept : null
  return [commit.seq, commit.at, commit.journal, JSON.stringify(rows), holds, kept]
}

const isAmount = (columns: readonly string[]): boolean[] => columns.map((column) => column.endsWith('_nanos'))
const amounts = [isAmount(entryColumns), isAmount(ownerColumns), isAmount(requestColumns)]

function valuesOf(rows: readonly Cell[][], isNanos: readonly boolean[] = []): Parameter[][] {
  return rows.map((row) =>
    row.map((cell, index) => (isNanos[index] === true && cell !== null ? BigInt(cell) : cell)),
  )
}

export function unpackedCommit([seq, at, journal, text, holds, kept]: PackedCommit): CommitValues {
  const [entries = [], owners = [], requests = []] = JSON.parse(text) as Cell[][][]
  return {
    seq,
    at,
    journal,
    entries: valuesOf(entries, amounts[0]),
    owners: valuesOf(owners, amounts[1]),
    requests: valuesOf(requests, amounts[2]),
    holds,
    kept: kept?.map((row) => keptColumns.map((column) => row[column])) ?? [],
  }
}
