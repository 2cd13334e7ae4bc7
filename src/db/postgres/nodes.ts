/**
 * Cluster membership, heartbeats and leases. Each start of a node, and its retirement, begins a new epoch, and the
 * database rejects writes of older epochs (fencing). Times are those of the database's clock.
 */

import type { Client } from 'pg'
import type { Db } from '../db.ts'
import { checkNotMoved, unfinishedMoveMessage } from '../transfer/move-marker.ts'
import type { Statement } from '../statement.ts'
import { queryValue } from './connection.ts'
import type { HoldRow } from './lock-batch.ts'
import { databaseNow as nowText } from './sql-text.ts'

export type NodeState = 'running' | 'stopped' | 'retired'

/** A node of a cluster. Times in milliseconds since the epoch. */
export interface NodeRecord {
  readonly id: string
  readonly name: string
  /** `host:port`; null before its first start with a release that stores it. */
  readonly address: string | null
  readonly version: string
  readonly state: 'running' | 'silent' | 'stopped' | 'retired'
  readonly startedAt: number
  readonly seenAt: number
  readonly openHolds: number
  /** Whether it is the node that lists the nodes. */
  readonly isSelf: boolean
}

export interface NodeRow {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly epoch: number
  readonly state: NodeState
  readonly started_at: number
  readonly seen_at: number
}

/** Settings with the address of each node: this and the node's id. */
const addressPrefix = 'node_address:'

/** Neither is a move into the database unfinished, nor was the database moved. */
const notMovedText = `to_regclass('moving') is null and not exists (select 1 from settings where name = 'moved_to')`

function storeAddress(id: string, address: string): Statement {
  return {
    sql: `insert into settings (name, value) select ?, ? where ${notMovedText}
      on conflict (name) do update set value = excluded.value`,
    parameters: [`${addressPrefix}${id}`, address],
  }
}

const lockText = 'select id from nodes where id = ? for update'

/**
 * Begins a new epoch of a node and returns it. Waits for a running batch of an earlier process. Throws if a move into the
 * database is not finished, and DatabaseMovedError if the database was moved; a move records both under the lock of this
 * write.
 */
export async function joinCluster(
  db: Db,
  node: Pick<NodeRecord, 'id' | 'name' | 'version'> & { readonly address?: string },
): Promise<number> {
  const [, result] = await db.write(
    { sql: lockText, parameters: [node.id] },
    {
      sql: `insert into nodes (id, name, version, epoch, state, started_at, seen_at)
        select ?, ?, ?, 1, 'running', ${nowText}, ${nowText}
        where ${notMovedText}
        on conflict (id) do update set name = excluded.name, version = excluded.version, epoch = nodes.epoch + 1,
          state = 'running', started_at = excluded.started_at, seen_at = excluded.seen_at
        returning epoch`,
      parameters: [node.id, node.name, node.version],
    },
    ...(node.address === undefined ? [] : [storeAddress(node.id, node.address)]),
  )
  if (result?.changes === 1) return Number(result.rows[0]?.['epoch'])
  await checkNotMoved(db)
  throw new Error(unfinishedMoveMessage)
}

/** Returns the machine where another process runs as this node in a later epoch, or null. */
export async function findOtherMachine(db: Db, id: string, epoch: number): Promise<string | null> {
  const [row] = await db.all<{ name: string }>({
    sql: `select name from nodes where id = ? and state = 'running' and epoch > ?`,
    parameters: [id, epoch],
  })
  return row?.name ?? null
}

/** Records a heartbeat; false if the node's epoch has ended. */
export async function recordHeartbeat(db: Db, id: string, epoch: number): Promise<boolean> {
  const [result] = await db.write({
    sql: `update nodes set seen_at = ${nowText} where id = ? and epoch = ?`,
    parameters: [id, epoch],
  })
  return result?.changes === 1
}

export async function leaveCluster(db: Db, id: string, epoch: number): Promise<void> {
  await db.write({
    sql: `update nodes set state = 'stopped', seen_at = ${nowText} where id = ? and epoch = ?`,
    parameters: [id, epoch],
  })
}

/** Retires a node, after waiting for its running batch; false if the node does not exist. */
export async function retireNode(db: Db, id: string): Promise<boolean> {
  const [found] = await db.write(
    { sql: lockText, parameters: [id] },
    {
      sql: `update nodes set state = 'retired', epoch = epoch + 1 where id = ? and state <> 'retired'`,
      parameters: [id],
    },
  )
  return found?.rows.length === 1
}

/** Retires a node unless it has sent a heartbeat since the last one that was seen; false if it was not retired. */
export async function retireSilentNode(
  db: Db,
  { id, seenAt }: { readonly id: string; readonly seenAt: number },
): Promise<boolean> {
  const [, retired] = await db.write(
    { sql: lockText, parameters: [id] },
    {
      sql: `update nodes set state = 'retired', epoch = epoch + 1
        where id = ? and state = 'running' and seen_at = ?`,
      parameters: [id, seenAt],
    },
  )
  return retired?.changes === 1
}

/** Lists all nodes with their numbers of open holds. */
export function listNodes(
  db: Db,
): Promise<
  (NodeRow & { readonly address: string | null; readonly open_holds: number; readonly now: number })[]
> {
  return db.all({
    sql: `select nodes.id, name, version, epoch, state, started_at, seen_at, ${nowText} as now,
        (select count(*) from holds where holds.node = nodes.id and retired_at is null) as open_holds,
        (select value from settings where settings.name = ? || nodes.id) as address
      from nodes order by id`,
    parameters: [addressPrefix],
  })
}

/** Lists the holds of a node that were charged when it was retired and whose bills it has not entered. */
export function listRetiredHolds(db: Db, node: string): Promise<HoldRow[]> {
  return db.all({
    sql: 'select * from holds where node = ? and retired_at is not null order by id',
    parameters: [node],
  })
}

/** Lists open holds of retired nodes, which any node may end. */
export function listHoldsOfRetiredNodes(db: Db, limit: number): Promise<HoldRow[]> {
  return db.all({
    sql: `select holds.* from holds join nodes on nodes.id = holds.node
      where nodes.state = 'retired' and retired_at is null order by holds.id limit ?`,
    parameters: [limit],
  })
}

/** Whether a node of a release before this one is running or silent. */
export async function hasOlderNodes(
  db: Pick<Db, 'all'>,
  [major, minor]: readonly [number, number],
): Promise<boolean> {
  const sql = "select distinct version from nodes where state = 'running'"
  const rows = await db.all<{ version: string }>({ sql, parameters: [] })
  return rows.some(({ version }) => {
    const [first = 0, second = 0] = version.split('.').map(Number)
    return first < major || (first === major && second < minor)
  })
}

export function listOpenHolds(db: Db, node: string): Promise<HoldRow[]> {
  return db.all({
    sql: 'select * from holds where node = ? and retired_at is null order by id',
    parameters: [node],
  })
}

/** Lists the running nodes by id, with their last heartbeats, and whether they have sent one within `aliveMs`. */
export async function listRunningNodes(
  db: Db,
  aliveMs: number,
): Promise<{ readonly id: string; readonly seenAt: number; readonly isAlive: boolean }[]> {
  const rows = await db.all<{ id: string; seen_at: number; age: number }>({
    sql: `select id, seen_at, ${nowText} - seen_at as age from nodes where state = 'running' order by id`,
    parameters: [],
  })
  return rows.map(({ id, seen_at: seenAt, age }) => ({ id, seenAt, isAlive: age < aliveMs }))
}

/** Acquires or renews the lease of a job for `durationMs`; false if another node holds it. */
export async function acquireLease(db: Db, name: string, node: string, durationMs: number): Promise<boolean> {
  const [result] = await db.write({
    sql: `insert into leases (name, node, until) values (?, ?, ${nowText} + ?)
      on conflict (name) do update set node = excluded.node, until = excluded.until
      where leases.node = excluded.node or leases.until < ${nowText}`,
    parameters: [name, node, durationMs],
  })
  return result?.changes === 1
}

/** Releases a lease, so that another node can acquire it. */
export async function releaseLease(db: Db, name: string, node: string): Promise<void> {
  await db.write({ sql: 'delete from leases where name = ? and node = ?', parameters: [name, node] })
}

/** Why the database cannot be changed offline: a node was neither stopped cleanly nor retired. undefined: none. */
export async function findRunningNode(client: Client): Promise<string | undefined> {
  const id = await queryValue(client, `select min(id) from nodes where state = 'running'`)
  if (id === undefined) return undefined
  return `Node ${id} runs, or was not stopped cleanly: stop it, or start and stop it once more, or retire it with \`sluice node retire\` at another node.`
}
