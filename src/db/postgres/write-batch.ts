/** What a batch has come to, written and committed in one flight. Rows that are new are copied, the others put in place. */

import type { Client } from 'pg'
import { entryColumns, keptColumns, requestColumns } from '../journal.ts'
import type { EntryRow, KeptRow, RequestRow } from '../messages.ts'
import { fly, type Flown, type Step } from './pipeline.ts'
import { holdColumns, sharedOwnerColumns, type HoldRow, type SharedOwnerRow } from './ledger-columns.ts'
import { sharedRowLock } from './advisory-locks.ts'
import { arrayText, copyText, withoutZeroes } from './sql-text.ts'

export interface BatchRows {
  readonly seq: number
  readonly node: string
  /** The commit's number in the node's chain; `null`: request rows alone, which the chain does not hold. */
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
  /** Of some of the requests there may be rows already, which stay: nothing is copied then. */
  readonly areRequestsKnown: boolean
  readonly kept: readonly KeptRow[]
  /** Holds that nobody has heard of. */
  readonly opened: readonly Omit<HoldRow, 'node'>[]
  /** Holds that have changed: whose they are stays. */
  readonly changed: readonly Omit<HoldRow, 'node'>[]
  readonly ended: readonly string[]
}

const allEntryColumns = ['seq', ...entryColumns] as const

const replacing = (columns: readonly string[]): string =>
  columns.map((column) => `${column} = excluded.${column}`).join(', ')

/** Its rows are copied in. */
function copying(table: string, columns: readonly string[]): Step {
  return { name: `copy-${table}`, text: `copy ${table} (${columns.join(', ')}) from stdin` }
}

/** Its one parameter is the rows as JSON. */
function putting(table: string, columns: readonly string[], onConflict: string): Step {
  const list = columns.join(', ')
  return {
    name: `put-${table}`,
    text: `insert into ${table} (${list}) select ${list} from json_populate_recordset(null::${table}, $1)
      on conflict ${onConflict}`,
  }
}

const steps = {
  // Not before the rows of accounts are ours: whoever wants it alone would have to wait for all who wait for those.
  rowLock: { name: 'row-lock', text: sharedRowLock },
  journal: {
    name: 'journal',
    text: 'insert into journal (seq, at, body, node, number, prev, hash) values ($1, $2, $3, $4, $5, $6, $7)',
  },
  entries: copying('entries', allEntryColumns),
  owners: putting(
    'owners',
    sharedOwnerColumns,
    `(id) do update set ${replacing(sharedOwnerColumns.slice(1))}`,
  ),
  requests: copying('requests', requestColumns),
  knownRequests: putting('requests', requestColumns, '(request_id) do nothing'),
  // Takes the place of one that is over.
  kept: putting(
    'kept_answers',
    keptColumns,
    `(account_id, key_hash) do update set ${replacing(keptColumns.slice(2))}`,
  ),
  opened: copying('holds', holdColumns),
  // Whose hold it is stays, also where another node ends it.
  changed: putting(
    'holds',
    holdColumns,
    `(id) do update set ${replacing(holdColumns.filter((column) => column !== 'id' && column !== 'node'))}`,
  ),
  ended: { name: 'ended', text: 'delete from holds where id = any($1::text[])' },
  commit: { name: 'commit', text: 'commit' },
} as const satisfies Record<string, Step>

const hexOf = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString('hex')}`

function jsonCellOf(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Uint8Array) return hexOf(value)
  return typeof value === 'string' ? withoutZeroes(value) : value
}

/** Rows as `json_populate_recordset` reads them. */
const jsonText = (rows: readonly object[]): string => JSON.stringify(rows, jsonCellOf)

function writeSteps(batch: BatchRows): Flown[] {
  const { seq, node, commit, entries, owners, requests, kept, opened, changed, ended } = batch
  const flown: Flown[] = requests.length > 0 ? [{ step: steps.rowLock }] : []
  if (commit !== null) {
    const { number, at, body, prev, hash } = commit
    const values = [String(seq), String(at), body, node, String(number), hexOf(prev), hexOf(hash)]
    flown.push({ step: steps.journal, values })
  }
  if (entries.length > 0) {
    const rows = entries.map((entry) => ({ seq, ...entry }))
    flown.push({ step: steps.entries, rows: copyText(rows, allEntryColumns) })
  }
  if (owners.length > 0) flown.push({ step: steps.owners, values: [jsonText(owners)] })
  if (requests.length > 0) {
    if (batch.areRequestsKnown) flown.push({ step: steps.knownRequests, values: [jsonText(requests)] })
    else flown.push({ step: steps.requests, rows: copyText(requests, requestColumns) })
  }
  if (kept.length > 0) flown.push({ step: steps.kept, values: [jsonText(kept)] })
  if (opened.length > 0) {
    const rows = opened.map((hold) => ({ ...hold, node }))
    flown.push({ step: steps.opened, rows: copyText(rows, holdColumns) })
  }
  if (changed.length > 0) {
    const rows = changed.map((hold) => ({ ...hold, node }))
    flown.push({ step: steps.changed, values: [jsonText(rows)] })
  }
  if (ended.length > 0) flown.push({ step: steps.ended, values: [arrayText(ended)] })
  flown.push({ step: steps.commit })
  return flown
}

/** Writes what the batch has come to and commits it, in one flight. */
export async function writeBatch(client: Client, batch: BatchRows): Promise<void> {
  await fly(client, writeSteps(batch))
}
