/**
 * The ledger's rows in PostgreSQL. A node's batch is one transaction of two round trips: the first locks what the batch
 * touches, in the order of the rows' ids, so that no two nodes ever wait for each other; the second writes and commits.
 * Its number is taken when everything is locked: commits that touch the same row are numbered in their order.
 */

import type { Client } from 'pg'
import { ownerColumns } from '../journal.ts'
import { openClient, runTexts, type Connecting } from './connection.ts'
import { fly, type Flown, type FlownRows, type Step } from './pipeline.ts'
import {
  holdColumns,
  rowsAs,
  sharedOwnerColumns,
  type HoldRow,
  type SharedOwnerRow,
} from './ledger-columns.ts'
import { arrayText, literalOf } from './sql-text.ts'

export { sharedOwnerColumns, type HoldRow, type SharedOwnerRow } from './ledger-columns.ts'

export interface BatchNeeds {
  readonly node: string
  readonly epoch: number
  /** Owners whose rows are there (see `insertOwners`). */
  readonly owners: readonly string[]
  /** Holds that this node does not know by itself. */
  readonly holds: readonly string[]
  /** Holds of this node that end with this batch, whatever it comes to: their rows are deleted while others are waited for. */
  readonly ending: readonly string[]
  /** Credits, of which it is asked whether they were entered before. */
  readonly credits: readonly string[]
  /** Keys that requests want to claim: by whom they are, and as `kept_answers` has them. */
  readonly claims: readonly { readonly name: string; readonly account: string; readonly key: string }[]
  /** Answers that were kept before this moment are over. */
  readonly keptAfter: number
}

export interface LockedRows {
  /** False: the node was retired, or another process runs in its name. Nothing is locked then. */
  readonly isOurs: boolean
  /** The order of this commit among those of all nodes. */
  readonly seq: number
  readonly owners: readonly SharedOwnerRow[]
  readonly holds: readonly HoldRow[]
  readonly credits: readonly { readonly ref: string; readonly debit: string; readonly amount_nanos: bigint }[]
  /** Open holds that have claimed one of the keys. */
  readonly claimed: readonly { readonly body: string; readonly claim: string }[]
  /** Names of claims whose answers are kept. */
  readonly kept: readonly string[]
}

/**
 * A connection for batches. Their statements are planned once, whatever the tables' statistics are then, and each finds its
 * rows by an index: so neither a table that was empty nor one that was never looked at makes a plan that is bad later.
 */
export function openLedgerClient(connecting: Connecting): Promise<Client> {
  return openClient({
    ...connecting,
    settings: '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off',
  })
}

const credited = ['ref', 'debit', 'amount_nanos'] as const
const claimed = ['body', 'claim'] as const

/** Makes rows for owners that have none, in a transaction of their own, before anything is locked. */
export async function insertOwners(client: Client, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const columns = ownerColumns.slice(1)
  await client.query(
    `insert into owners (id, ${columns.join(', ')})
      select id, ${columns.map(() => '0').join(', ')} from unnest(array[${ids.map(literalOf).join(',')}]) as id
      order by id collate "C" on conflict (id) do nothing`,
  )
}

const steps = {
  begin: { name: 'begin', text: 'begin' },
  node: { name: 'node', text: 'select epoch from nodes where id = $1 and epoch = $2 for key share' },
  // Only what is ours: nobody else touches it before this node is retired, and that waits for this transaction.
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
    text: `select ${credited.join(', ')} from entries where ref = any($1::text[]) and reason is not null`,
  },
  claimed: {
    name: 'claimed',
    text: `select ${claimed.join(', ')} from holds where claim = any($1::text[]) and claim is not null`,
  },
  kept: {
    name: 'kept',
    text: `select account_id, key_hash from kept_answers
      where (account_id, key_hash) in (select unnest($1::text[]), unnest($2::text[])) and at > $3`,
  },
  order: { name: 'order', text: `select nextval('journal_order')` },
} as const satisfies Record<string, Step>

function lockSteps(needs: BatchNeeds): Flown[] {
  const { node, owners, holds, ending, credits, claims, keptAfter } = needs
  const self = [node, String(needs.epoch)]
  const flown: Flown[] = [{ step: steps.begin }, { step: steps.node, values: self }]
  if (ending.length > 0) flown.push({ step: steps.ending, values: [arrayText(ending), ...self] })
  if (owners.length > 0) flown.push({ step: steps.owners, values: [arrayText(owners)] })
  if (holds.length > 0) flown.push({ step: steps.holds, values: [arrayText(holds)] })
  if (credits.length > 0) flown.push({ step: steps.credits, values: [arrayText(credits)] })
  if (claims.length > 0) {
    const accounts = arrayText(claims.map(({ account }) => account))
    const keys = arrayText(claims.map(({ key }) => key))
    flown.push(
      { step: steps.claimed, values: [arrayText(claims.map(({ name }) => name))] },
      { step: steps.kept, values: [accounts, keys, String(keptAfter)] },
    )
  }
  flown.push({ step: steps.order })
  return flown
}

/** Begins the batch's transaction and locks its rows. Where the node is not ours any more, the transaction is ended. */
export async function lockBatch(client: Client, needs: BatchNeeds): Promise<LockedRows> {
  const flown = lockSteps(needs)
  const results = await fly(client, flown)
  const rowsOf = (step: Step): FlownRows => results[flown.findIndex((each) => each.step === step)] ?? []
  const isOurs = rowsOf(steps.node).length > 0
  if (!isOurs) await client.query('rollback')
  const isKept = new Set(rowsOf(steps.kept).map(([account, key]) => `${account} ${key}`))
  return {
    isOurs,
    seq: Number(rowsOf(steps.order)[0]?.[0]),
    owners: rowsAs(rowsOf(steps.owners), sharedOwnerColumns),
    holds: rowsAs(rowsOf(steps.holds), holdColumns),
    credits: rowsAs(rowsOf(steps.credits), credited),
    claimed: rowsAs(rowsOf(steps.claimed), claimed),
    kept: needs.claims.filter(({ account, key }) => isKept.has(`${account} ${key}`)).map(({ name }) => name),
  }
}

export interface NodeHead {
  readonly number: number
  readonly hash: Uint8Array
}

/**
 * The end of a node's chain. Waits for a batch of the node that may still be committing somewhere, so that what is found
 * is final; `undefined`: the node was retired, or another process runs in its name.
 */
export async function chainHeadOfNode(
  client: Client,
  node: string,
  epoch: number,
): Promise<NodeHead | null | undefined> {
  const id = literalOf(node)
  const [, ours = [], rows = []] = await runTexts(
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
  if (!(hash instanceof Uint8Array)) throw new Error('The journal has a row without its hash.')
  return { number: Number(row['number']), hash }
}
