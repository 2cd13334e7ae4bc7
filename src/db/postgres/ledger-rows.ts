/**
 * The ledger's rows in PostgreSQL. A node's batch is one transaction of two round trips: the first locks what the batch
 * touches, in the order of the rows' ids, so that no two nodes ever wait for each other; the second writes and commits.
 * Its number is taken when everything is locked: commits that touch the same row are numbered in their order.
 */

import type { Client } from 'pg'
import { entryColumns, keptColumns, ownerColumns, requestColumns } from '../journal.ts'
import type { EntryRow, KeptRow, OwnerRow, Parameter, RequestRow, Row } from '../messages.ts'
import { runTexts } from './connect.ts'
import { columnTypes, type HoldRow } from './ledger-columns.ts'
import { sharedRowLock } from './locks.ts'
import { columnsText, literalOf, valuesText } from './text.ts'

export type { HoldRow } from './ledger-columns.ts'

/** An owner with what is held of it by all nodes. */
export interface SharedOwnerRow extends OwnerRow {
  readonly held_nanos: bigint
  readonly day_held_nanos: bigint
  readonly month_held_nanos: bigint
  /** JSON of the periods that are over while holds of theirs are open. */
  readonly past: string
}

export interface BatchNeeds {
  readonly node: string
  readonly epoch: number
  /** Owners whose rows are there (see `insertOwners`). */
  readonly owners: readonly string[]
  /** Holds that this node does not know by itself. */
  readonly holds: readonly string[]
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
  readonly kept: readonly KeptRow[]
  /** New or changed. */
  readonly holds: readonly Omit<HoldRow, 'node'>[]
  readonly ended: readonly string[]
}

export const sharedOwnerColumns = [
  ...ownerColumns,
  'held_nanos',
  'day_held_nanos',
  'month_held_nanos',
  'past',
] as const satisfies (keyof SharedOwnerRow)[]

const holdColumns = [
  'id',
  'node',
  'body',
  'mark_input',
  'mark_output',
  'retired_at',
  'charged_nanos',
  'claim',
] as const satisfies (keyof HoldRow)[]

const listOf = (ids: readonly string[]): string => ids.map(literalOf).join(',')

/** Makes rows for owners that have none, in a transaction of their own, before anything is locked. */
export async function insertOwners(client: Client, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const columns = ownerColumns.slice(1)
  await client.query(
    `insert into owners (id, ${columns.join(', ')})
      select id, ${columns.map(() => '0').join(', ')} from unnest(array[${listOf(ids)}]) as id order by id collate "C"
      on conflict (id) do nothing`,
  )
}

function rowsAs<Shape>(rows: Row[] | undefined): Shape[] {
  // The columns asked for are those of the shape, and connect.ts reads them as the schema says.
  return (rows ?? []) as Shape[]
}

const nothing = 'select 1 where false'

function lockTexts({ node, epoch, owners, holds, credits, claims, keptAfter }: BatchNeeds): string[] {
  const pairs = claims.map(({ account, key }) => `(${literalOf(account)}, ${literalOf(key)})`).join(',')
  const names = listOf(claims.map(({ name }) => name))
  return [
    'begin',
    sharedRowLock,
    `select epoch from nodes where id = ${literalOf(node)} and epoch = ${epoch} for key share`,
    owners.length === 0
      ? nothing
      : `select ${sharedOwnerColumns.join(', ')} from owners where id in (${listOf(owners)}) order by id for update`,
    holds.length === 0
      ? nothing
      : `select ${holdColumns.join(', ')} from holds where id in (${listOf(holds)}) order by id for update`,
    credits.length === 0
      ? nothing
      : `select ref, debit, amount_nanos from entries where ref in (${listOf(credits)}) and reason is not null`,
    claims.length === 0 ? nothing : `select body, claim from holds where claim in (${names})`,
    claims.length === 0
      ? nothing
      : `select account_id, key_hash from kept_answers where (account_id, key_hash) in (${pairs}) and at > ${keptAfter}`,
    `select nextval('journal_order') as seq`,
  ]
}

/** Begins the batch's transaction and locks its rows. Where the node is not ours any more, the transaction is ended. */
export async function lockBatch(client: Client, needs: BatchNeeds): Promise<LockedRows> {
  const [, , ours = [], owners, holds, credits, claimed, kept = [], order = []] = await runTexts(
    client,
    lockTexts(needs).join(';'),
  )
  if (ours.length === 0) await client.query('rollback')
  const isKept = new Set(kept.map((row) => `${String(row['account_id'])} ${String(row['key_hash'])}`))
  return {
    isOurs: ours.length > 0,
    seq: Number(order[0]?.['seq']),
    owners: rowsAs(owners),
    holds: rowsAs(holds),
    credits: rowsAs(credits),
    claimed: rowsAs(claimed),
    kept: needs.claims.filter(({ account, key }) => isKept.has(`${account} ${key}`)).map(({ name }) => name),
  }
}

function cellsOf<Key extends string>(
  rows: readonly Readonly<Record<Key, Parameter>>[],
  columns: readonly Key[],
): Parameter[][] {
  return rows.map((row) => columns.map((column) => row[column]))
}

const replacing = (columns: readonly string[]): string =>
  columns.map((column) => `${column} = excluded.${column}`).join(', ')

function insertText(table: string, columns: readonly string[], rows: Parameter[][]): string {
  return `insert into ${table} (${columns.join(', ')}) values ${valuesText(rows)}`
}

/** As `insertText`, for many rows. */
function insertManyText(
  table: string,
  columns: readonly (keyof typeof columnTypes)[],
  rows: Parameter[][],
): string {
  const types = columns.map((column) => columnTypes[column])
  return `insert into ${table} (${columns.join(', ')}) select * from unnest(${columnsText(rows, types)})`
}

function textsOf(batch: BatchRows): string[] {
  const { seq, node, commit, entries, owners, requests, kept, holds, ended } = batch
  const texts: string[] = []
  if (commit !== null) {
    const { number, at, body, prev, hash } = commit
    const values = [seq, at, body, node, number, prev, hash].map(literalOf).join(', ')
    texts.push(`insert into journal (seq, at, body, node, number, prev, hash) values (${values})`)
  }
  if (entries.length > 0) {
    const rows = cellsOf(entries, entryColumns).map((row) => [seq, ...row])
    texts.push(insertManyText('entries', ['seq', ...entryColumns], rows))
  }
  if (owners.length > 0) {
    const text = insertText('owners', sharedOwnerColumns, cellsOf(owners, sharedOwnerColumns))
    texts.push(`${text} on conflict (id) do update set ${replacing(sharedOwnerColumns.slice(1))}`)
  }
  if (requests.length > 0) {
    const text = insertManyText('requests', requestColumns, cellsOf(requests, requestColumns))
    texts.push(`${text} on conflict (request_id) do nothing`)
  }
  if (kept.length > 0) {
    const text = insertText('kept_answers', keptColumns, cellsOf(kept, keptColumns))
    // Takes the place of one that is over.
    texts.push(`${text} on conflict (account_id, key_hash) do update set ${replacing(keptColumns.slice(2))}`)
  }
  if (holds.length > 0) {
    const rows = holds.map((hold) => ({ ...hold, node }))
    const text = insertManyText('holds', holdColumns, cellsOf(rows, holdColumns))
    // Whose hold it is stays, also where another node ends it.
    const set = replacing(holdColumns.filter((column) => column !== 'id' && column !== 'node'))
    texts.push(`${text} on conflict (id) do update set ${set}`)
  }
  if (ended.length > 0) texts.push(`delete from holds where id in (${listOf(ended)})`)
  return texts
}

/** Writes what the batch has come to and commits it, in one round trip. */
export async function writeBatch(client: Client, batch: BatchRows): Promise<void> {
  await client.query([...textsOf(batch), 'commit'].join(';'))
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
