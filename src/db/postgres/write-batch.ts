/** Writes and commits a ledger batch in one pipelined round trip: new rows by `copy`, others by upsert. */

import type { Client } from 'pg'
import { entryColumns, storedResponseColumns, requestColumns } from '../journal.ts'
import type { EntryRow, StoredResponseRow, RequestRow } from '../ledger-commit.ts'
import { runPipelined, type PipelinedStatement, type PreparedStatement } from './pipeline.ts'
import { holdColumns, sharedOwnerColumns, type HoldRow, type SharedOwnerRow } from './ledger-rows.ts'
import { toValidText } from '../../lib/valid-text.ts'
import { sharedRowLock } from './advisory-locks.ts'
import { formatArray, formatCopyRows } from './sql-text.ts'

export interface BatchRows {
  readonly seq: number
  readonly node: string
  /** The commit with its number in the node's chain; `null`: only request rows, which are not part of the chain. */
  readonly commit: {
    readonly number: number
    readonly at: number
    readonly body: string
    readonly prev: Uint8Array
    readonly hash: Uint8Array
  } | null
  readonly entries: readonly EntryRow[]
  readonly owners: readonly SharedOwnerRow[]
  readonly requests: readonly RequestRow[]
  /** Some request rows may exist already and stay unchanged; then `copy` cannot be used. */
  readonly areRequestsKnown: boolean
  readonly storedResponses: readonly StoredResponseRow[]
  /** New holds. */
  readonly opened: readonly Omit<HoldRow, 'node'>[]
  /** Changed holds; their node stays the same. */
  readonly changed: readonly Omit<HoldRow, 'node'>[]
  readonly ended: readonly string[]
}

const allEntryColumns = ['seq', ...entryColumns] as const

const assignExcluded = (columns: readonly string[]): string =>
  columns.map((column) => `${column} = excluded.${column}`).join(', ')

/** A statement that copies rows in. */
function copyStatement(table: string, columns: readonly string[]): PreparedStatement {
  return { name: `copy-${table}`, text: `copy ${table} (${columns.join(', ')}) from stdin` }
}

/** An upsert with the rows as its only parameter, in JSON. */
function upsertStatement(table: string, columns: readonly string[], onConflict: string): PreparedStatement {
  const list = columns.join(', ')
  return {
    name: `put-${table}`,
    text: `insert into ${table} (${list}) select ${list} from json_populate_recordset(null::${table}, $1)
      on conflict ${onConflict}`,
  }
}

const statements = {
  // Taken after the owners' rows are locked; otherwise the exclusive holder would wait for all batches that wait for owners.
  rowLock: { name: 'row-lock', text: sharedRowLock },
  journal: {
    name: 'journal',
    text: 'insert into journal (seq, at, body, node, number, prev, hash) values ($1, $2, $3, $4, $5, $6, $7)',
  },
  entries: copyStatement('entries', allEntryColumns),
  owners: upsertStatement(
    'owners',
    sharedOwnerColumns,
    `(id) do update set ${assignExcluded(sharedOwnerColumns.slice(1))}`,
  ),
  requests: copyStatement('requests', requestColumns),
  knownRequests: upsertStatement('requests', requestColumns, '(request_id) do nothing'),
  // Replaces an expired one.
  kept: upsertStatement(
    'kept_answers',
    storedResponseColumns,
    `(account_id, key_hash) do update set ${assignExcluded(storedResponseColumns.slice(2))}`,
  ),
  opened: copyStatement('holds', holdColumns),
  // The hold's node stays the same, even if another node ends it.
  changed: upsertStatement(
    'holds',
    holdColumns,
    `(id) do update set ${assignExcluded(holdColumns.filter((column) => column !== 'id' && column !== 'node'))}`,
  ),
  ended: { name: 'ended', text: 'delete from holds where id = any($1::text[])' },
  commit: { name: 'commit', text: 'commit' },
} as const satisfies Record<string, PreparedStatement>

const encodeHex = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString('hex')}`

function encodeJsonCell(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Uint8Array) return encodeHex(value)
  return typeof value === 'string' ? toValidText(value) : value
}

/** Rows as `json_populate_recordset` reads them. */
const encodeJsonRows = (rows: readonly object[]): string => JSON.stringify(rows, encodeJsonCell)

function writeStatements(batch: BatchRows): PipelinedStatement[] {
  const { seq, node, commit, entries, owners, requests, storedResponses, opened, changed, ended } = batch
  const pipeline: PipelinedStatement[] = requests.length > 0 ? [{ statement: statements.rowLock }] : []
  if (commit !== null) {
    const { number, at, body, prev, hash } = commit
    const values = [String(seq), String(at), body, node, String(number), encodeHex(prev), encodeHex(hash)]
    pipeline.push({ statement: statements.journal, values })
  }
  if (entries.length > 0) {
    const rows = entries.map((entry) => ({ seq, ...entry }))
    pipeline.push({ statement: statements.entries, copyRows: formatCopyRows(rows, allEntryColumns) })
  }
  if (owners.length > 0) pipeline.push({ statement: statements.owners, values: [encodeJsonRows(owners)] })
  if (requests.length > 0) {
    if (batch.areRequestsKnown)
      pipeline.push({ statement: statements.knownRequests, values: [encodeJsonRows(requests)] })
    else pipeline.push({ statement: statements.requests, copyRows: formatCopyRows(requests, requestColumns) })
  }
  if (storedResponses.length > 0)
    pipeline.push({ statement: statements.kept, values: [encodeJsonRows(storedResponses)] })
  if (opened.length > 0) {
    const rows = opened.map((hold) => ({ ...hold, node }))
    pipeline.push({ statement: statements.opened, copyRows: formatCopyRows(rows, holdColumns) })
  }
  if (changed.length > 0) {
    const rows = changed.map((hold) => ({ ...hold, node }))
    pipeline.push({ statement: statements.changed, values: [encodeJsonRows(rows)] })
  }
  if (ended.length > 0) pipeline.push({ statement: statements.ended, values: [formatArray(ended)] })
  pipeline.push({ statement: statements.commit })
  return pipeline
}

/** Writes the batch and commits it. */
export async function writeBatch(client: Client, batch: BatchRows): Promise<void> {
  await runPipelined(client, writeStatements(batch))
}
