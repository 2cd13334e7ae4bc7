/**
 * The ledger's rows: one commit becomes a journal row, chained to the row before by its hash, and the tables that
 * are its projection (data-path: Durability). Also what a start reads back: the last checkpoint and the journal since.
 */

import { hash as hashOnce } from 'node:crypto'
import type { StatementSync } from 'node:sqlite'
import type { EntryRow, KeptRow, OwnerRow, Parameter, RequestRow } from './messages.ts'
import type { Connection } from './sqlite/connection.ts'
import { StoreError } from './store-error.ts'

export const chainStart: Uint8Array = new Uint8Array(32)
const checkpointsKept = 2

/** SHA-256 of the hash before and the body: a row that is changed, left out or moved breaks every hash after it. */
export function chainHash(previous: Uint8Array, body: string): Uint8Array {
  return hashOnce('sha256', Buffer.concat([previous, Buffer.from(body)]), 'buffer')
}

/** The end of the chain: the number and hash of the last commit. */
export interface ChainHead {
  readonly seq: number
  readonly hash: Uint8Array
}

export const entryColumns = [
  'at',
  'debit',
  'credit',
  'amount_nanos',
  'kind',
  'account_id',
  'ref',
  'reason',
  'source',
] as const satisfies (keyof EntryRow)[]

export const ownerColumns = [
  'id',
  'balance_nanos',
  'day_end',
  'day_spent_nanos',
  'day_requests',
  'month_end',
  'month_spent_nanos',
  'total_spent_nanos',
  'flags',
] as const satisfies (keyof OwnerRow)[]

export const requestColumns = [
  'request_id',
  'at',
  'account_id',
  'key_id',
  'model',
  'upstream_id',
  'http_status',
  'outcome',
  'stream',
  'finish',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'usage_source',
  'cost_nanos',
  'upstream_cost_nanos',
  'first_token_ms',
  'duration_ms',
  'attempts',
  'error_code',
  'hold_nanos',
  'price_version',
  'cache_write_tokens',
  'factor_ppm',
  'balance_nanos',
  'fault',
  'fault_upstream',
  'cache_write_1h_tokens',
] as const satisfies (keyof RequestRow)[]

export const keptColumns = [
  'account_id',
  'key_hash',
  'body_hash',
  'request_id',
  'at',
  'cost_nanos',
  'answer',
] as const satisfies (keyof KeptRow)[]

function insertText(table: string, columns: readonly string[]): string {
  return `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`
}

function upsertText(table: string, columns: readonly string[], keys: readonly string[]): string {
  const others = columns.filter((column) => !keys.includes(column))
  const sets = others.map((column) => `${column} = excluded.${column}`)
  return `${insertText(table, columns)} on conflict (${keys.join(', ')}) do update set ${sets.join(', ')}`
}

/** The last journal row, or the start of the chain. */
export function chainHeadOf(connection: Connection): ChainHead {
  const row = connection.database.prepare('select seq, hash from journal order by seq desc limit 1').get()
  if (row === undefined) return { seq: 0, hash: chainStart }
  const hash = row['hash']
  if (!(hash instanceof Uint8Array)) throw new Error('The journal has a row without its hash.')
  return { seq: Number(row['seq']), hash }
}

/** A commit as its statements take it: the values of each row in the order of the columns above. */
export interface CommitValues {
  readonly seq: number
  readonly at: number
  readonly journal: string
  readonly entries: readonly Parameter[][]
  readonly owners: readonly Parameter[][]
  readonly requests: readonly Parameter[][]
  readonly kept: readonly Parameter[][]
  /** The open holds, when this commit is a checkpoint. */
  readonly holds: string | null
}

/** Writes commits inside the transaction that the caller has open. */
export class JournalWriter {
  readonly #journal: StatementSync
  readonly #entry: StatementSync
  readonly #owner: StatementSync
  readonly #request: StatementSync
  readonly #kept: StatementSync
  readonly #checkpoint: StatementSync
  readonly #forget: StatementSync

  constructor({ database }: Connection) {
    this.#journal = database.prepare(insertText('journal', ['seq', 'at', 'body', 'prev', 'hash']))
    this.#entry = database.prepare(insertText('entries', ['seq', ...entryColumns]))
    this.#owner = database.prepare(upsertText('owners', ownerColumns, ['id']))
    this.#request = database.prepare(insertText('requests', requestColumns))
    // Takes the place of one that is over.
    this.#kept = database.prepare(upsertText('kept_answers', keptColumns, ['account_id', 'key_hash']))
    this.#checkpoint = database.prepare(insertText('checkpoints', ['seq', 'at', 'holds']))
    this.#forget = database.prepare(
      `delete from checkpoints where seq not in (select seq from checkpoints order by seq desc limit ${checkpointsKept})`,
    )
  }

  /** Writes one commit after `head` and returns the new head. Any other number than the next is a conflict. */
  write(commit: CommitValues, head: ChainHead): ChainHead {
    if (commit.seq !== head.seq + 1) {
      const message = `Ledger commit ${commit.seq} does not follow ${head.seq}.`
      throw new StoreError({ class: 'conflict', message })
    }
    const hash = chainHash(head.hash, commit.journal)
    this.#journal.run(commit.seq, commit.at, commit.journal, head.hash, hash)
    for (const values of commit.entries) this.#entry.run(commit.seq, ...values)
    for (const values of commit.owners) this.#owner.run(...values)
    for (const values of commit.requests) this.#request.run(...values)
    for (const values of commit.kept) this.#kept.run(...values)
    if (commit.holds !== null) {
      this.#checkpoint.run(commit.seq, commit.at, commit.holds)
      this.#forget.run()
    }
    return { seq: commit.seq, hash }
  }
}
