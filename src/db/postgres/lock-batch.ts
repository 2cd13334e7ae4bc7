/**
 * A node's ledger batch is one transaction with two round trips. The first one, here, locks the rows of the batch in the
 * order of their ids, so that nodes cannot deadlock; the second (write-batch.ts) writes and commits. The commit's number
 * is assigned after all rows are locked, so commits that touch the same row are numbered in their order.
 */

import type { Client } from 'pg'
import { ownerColumns } from '../journal.ts'
import { leftPeriodsSetting } from '../left-periods.ts'
import { openClient, runScript, type ConnectionOptions } from './connection.ts'
import { runPipelined, type PipelinedStatement, type ResultRows, type PreparedStatement } from './pipeline.ts'
import {
  holdColumns,
  parseRows,
  sharedOwnerColumns,
  type HoldRow,
  type SharedOwnerRow,
} from './ledger-rows.ts'
import { databaseNow, formatArray, quoteLiteral } from './sql-text.ts'

export { sharedOwnerColumns, type HoldRow, type SharedOwnerRow } from './ledger-rows.ts'

export interface LockRequest {
  readonly node: string
  readonly epoch: number
  /** Owners, whose rows must exist (see `insertOwners`). */
  readonly owners: readonly string[]
  /** Holds of other nodes. */
  readonly holds: readonly string[]
  /** Holds of this node that end with this batch in any case; they are deleted before waiting for locks. */
  readonly endingHolds: readonly string[]
  /** Ids of credits, to find those that were entered before. */
  readonly credits: readonly string[]
  /** Idempotency keys to claim: by name, and as stored in `kept_answers`. */
  readonly claims: readonly { readonly name: string; readonly account: string; readonly key: string }[]
  /** Responses stored before this time are expired. */
  readonly responsesStoredAfter: number
}

export interface LockedRows {
  /** False if the node was retired, or another process runs as this node; nothing is locked then. */
  readonly isNodeActive: boolean
  /** The number of this commit in the order of all nodes. */
  readonly seq: number
  /** The database's clock. */
  readonly now: number
  /** The setting with this name, read after the rows were locked. */
  readonly leftPeriods: string | undefined
  readonly owners: readonly SharedOwnerRow[]
  readonly holds: readonly HoldRow[]
  readonly credits: readonly { readonly ref: string; readonly debit: string; readonly amount_nanos: bigint }[]
  /** Open holds that claim one of the keys. */
  readonly claimed: readonly { readonly body: string; readonly claim: string }[]
  /** Names of claims that have a stored response. */
  readonly claimsWithResponse: readonly string[]
}

/**
 * Opens a connection for batches. Generic plans with index scans only, so that missing statistics or a table that was
 * empty at planning time cannot lead to a bad plan later.
 */
export function openLedgerClient(connecting: ConnectionOptions): Promise<Client> {
  return openClient({
    ...connecting,
    settings: '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off',
  })
}

const creditColumns = ['ref', 'debit', 'amount_nanos'] as const
const claimColumns = ['body', 'claim'] as const

/** Inserts missing owners in their own transaction, before anything is locked. */
export async function insertOwners(client: Client, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const columns = ownerColumns.slice(1)
  await client.query(
    `insert into owners (id, ${columns.join(', ')})
      select id, ${columns.map(() => '0').join(', ')} from unnest(array[${ids.map(quoteLiteral).join(',')}]) as id
      order by id collate "C" on conflict (id) do nothing`,
  )
}

const statements = {
  begin: { name: 'begin', text: 'begin' },
  node: { name: 'node', text: 'select epoch from nodes where id = $1 and epoch = $2 for key share' },
  // Only holds of this node: no other node touches them before this one is retired, which waits for this transaction.
  ending: {
    name: 'ending',
    text: 'delete from holds where id = any($1::text[]) and exists (select 1 from nodes where id = $2 and epoch = $3)',
  },
  owners: {
    name: 'owners',
    text: `select ${sharedOwnerColumns.join(', ')} from owners where id = any($1::text[]) order by id for update`,
  },
  holds: {
    name: 'holds',
    text: `select ${holdColumns.join(', ')} from holds where id = any($1::text[]) order by id for update`,
  },
  credits: {
    name: 'credits',
    text: `select ${creditColumns.join(', ')} from entries where ref = any($1::text[]) and reason is not null`,
  },
  claimed: {
    name: 'claimed',
    text: `select ${claimColumns.join(', ')} from holds where claim = any($1::text[]) and claim is not null`,
  },
  kept: {
    name: 'kept',
    text: `select account_id, key_hash from kept_answers
      where (account_id, key_hash) in (select unnest($1::text[]), unnest($2::text[])) and at > $3`,
  },
  order: {
    name: 'order',
    text: `select nextval('journal_order'), ${databaseNow}, (select value from settings where name = '${leftPeriodsSetting}')`,
  },
} as const satisfies Record<string, PreparedStatement>

function lockStatements(request: LockRequest): PipelinedStatement[] {
  const { node, owners, holds, endingHolds, credits, claims, responsesStoredAfter } = request
  const self = [node, String(request.epoch)]
  const pipeline: PipelinedStatement[] = [
    { statement: statements.begin },
    { statement: statements.node, values: self },
  ]
  if (endingHolds.length > 0)
    pipeline.push({ statement: statements.ending, values: [formatArray(endingHolds), ...self] })
  if (owners.length > 0) pipeline.push({ statement: statements.owners, values: [formatArray(owners)] })
  if (holds.length > 0) pipeline.push({ statement: statements.holds, values: [formatArray(holds)] })
  if (credits.length > 0) pipeline.push({ statement: statements.credits, values: [formatArray(credits)] })
  if (claims.length > 0) {
    const accounts = formatArray(claims.map(({ account }) => account))
    const keys = formatArray(claims.map(({ key }) => key))
    pipeline.push(
      { statement: statements.claimed, values: [formatArray(claims.map(({ name }) => name))] },
      { statement: statements.kept, values: [accounts, keys, String(responsesStoredAfter)] },
    )
  }
  pipeline.push({ statement: statements.order })
  return pipeline
}

/** Begins the batch's transaction and locks its rows. If this process no longer owns the node, the transaction is rolled back. */
export async function lockBatch(client: Client, request: LockRequest): Promise<LockedRows> {
  const pipeline = lockStatements(request)
  const results = await runPipelined(client, pipeline)
  const rowsOf = (statement: PreparedStatement): ResultRows =>
    results[pipeline.findIndex((each) => each.statement === statement)] ?? []
  const isNodeActive = rowsOf(statements.node).length > 0
  if (!isNodeActive) await client.query('rollback')
  const isKept = new Set(rowsOf(statements.kept).map(([account, key]) => `${account} ${key}`))
  const [seq, now, leftPeriods] = rowsOf(statements.order)[0] ?? []
  return {
    isNodeActive,
    seq: Number(seq),
    now: Number(now),
    leftPeriods: leftPeriods ?? undefined,
    owners: parseRows(rowsOf(statements.owners), sharedOwnerColumns),
    holds: parseRows(rowsOf(statements.holds), holdColumns),
    credits: parseRows(rowsOf(statements.credits), creditColumns),
    claimed: parseRows(rowsOf(statements.claimed), claimColumns),
    claimsWithResponse: request.claims
      .filter(({ account, key }) => isKept.has(`${account} ${key}`))
      .map(({ name }) => name),
  }
}

export interface NodeChainHead {
  readonly number: number
  readonly hash: Uint8Array
}

/**
 * Reads the head of a node's journal chain. Waits for a batch of the node that may still be committing, so the result is
 * final; `undefined`: the node was retired, or another process runs as this node.
 */
export async function readNodeChainHead(
  client: Client,
  node: string,
  epoch: number,
): Promise<NodeChainHead | null | undefined> {
  const id = quoteLiteral(node)
  const [, ours = [], rows = []] = await runScript(
    client,
    `begin;
    select 1 from nodes where id = ${id} and epoch = ${epoch} for update;
    select number, hash from journal where node = ${id} order by number desc limit 1;
    commit`,
  )
  if (ours.length === 0) return undefined
  const [row] = rows
  if (row === undefined) return null
  const hash = row['hash']
  if (!(hash instanceof Uint8Array)) throw new Error('A journal row has no hash.')
  return { number: Number(row['number']), hash }
}
