/**
 * The nodes of a cluster. A node has an epoch: each start begins another, and so does its retirement; what is still on
 * its way in an older one is refused by the database. Times are the database's own.
 */

import type { Db } from '../db.ts'
import { checkNotMoved, unfinishedWords } from '../transfer/move-marker.ts'
import type { HoldRow } from './ledger-rows.ts'

export type NodeState = 'running' | 'stopped' | 'retired'

export interface NodeRow {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly epoch: number
  readonly state: NodeState
  readonly started_at: number
  readonly seen_at: number
}

const nowText = `(extract(epoch from clock_timestamp()) * 1000)::bigint`

const lockText = 'select id from nodes where id = ? for update'

/**
 * Begins an epoch of a node, its first or another; tells it. A batch of an earlier process that is under way is waited for.
 * Throws where everything is moved into it, and MovedAway where it was moved elsewhere: a move notes both under the lock of
 * this write.
 */
export async function joinCluster(
  db: Db,
  node: { readonly id: string; readonly name: string; readonly version: string },
): Promise<number> {
  const [, result] = await db.write(
    { sql: lockText, parameters: [node.id] },
    {
      sql: `insert into nodes (id, name, version, epoch, state, started_at, seen_at)
        select ?, ?, ?, 1, 'running', ${nowText}, ${nowText}
        where to_regclass('moving') is null and not exists (select 1 from settings where name = 'moved_to')
        on conflict (id) do update set name = excluded.name, version = excluded.version, epoch = nodes.epoch + 1,
          state = 'running', started_at = excluded.started_at, seen_at = excluded.seen_at
        returning epoch`,
      parameters: [node.id, node.name, node.version],
    },
  )
  if (result?.changes === 1) return Number(result.rows[0]?.['epoch'])
  await checkNotMoved(db)
  throw new Error(unfinishedWords)
}

/** The name of the machine where another process runs as this node, in a later epoch than the one given; else null. */
export async function runsElsewhere(db: Db, id: string, epoch: number): Promise<string | null> {
  const [row] = await db.all<{ name: string }>({
    sql: `select name from nodes where id = ? and state = 'running' and epoch > ?`,
    parameters: [id, epoch],
  })
  return row?.name ?? null
}

/** Says that a node is alive; false when its epoch is over. */
export async function noteAlive(db: Db, id: string, epoch: number): Promise<boolean> {
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

/** Ends a node's epoch for good; false when there is no such node. A batch of it that is under way is waited for. */
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

/** All nodes, with how many holds each has open. */
export function listNodes(
  db: Db,
): Promise<(NodeRow & { readonly open_holds: number; readonly now: number })[]> {
  return db.all({
    sql: `select nodes.id, name, version, epoch, state, started_at, seen_at, ${nowText} as now,
        (select count(*) from holds where holds.node = nodes.id and retired_at is null) as open_holds
      from nodes order by id`,
    parameters: [],
  })
}

/** Nodes that run as far as anybody knows, and were not heard of for so long. */
export async function silentNodes(db: Db, silentMs: number): Promise<string[]> {
  const rows = await db.all<{ id: string }>({
    sql: `select id from nodes where state = 'running' and seen_at < ${nowText} - ? order by id`,
    parameters: [silentMs],
  })
  return rows.map(({ id }) => id)
}

/** Open holds of nodes that were retired: whoever finds them ends them. */
export function holdsOfRetired(db: Db, most: number): Promise<HoldRow[]> {
  return db.all({
    sql: `select holds.* from holds join nodes on nodes.id = holds.node
      where nodes.state = 'retired' and retired_at is null order by holds.id limit ?`,
    parameters: [most],
  })
}

export function openHoldsOf(db: Db, node: string): Promise<HoldRow[]> {
  return db.all({
    sql: 'select * from holds where node = ? and retired_at is null order by id',
    parameters: [node],
  })
}

/** How many nodes share the work, and this one's place among them, from 0. */
export async function placeAmongNodes(
  db: Db,
  id: string,
  aliveMs: number,
): Promise<{ readonly nodes: number; readonly place: number }> {
  const rows = await db.all<{ id: string }>({
    sql: `select id from nodes where state = 'running' and (seen_at > ${nowText} - ? or id = ?) order by id`,
    parameters: [aliveMs, id],
  })
  return {
    nodes: Math.max(1, rows.length),
    place: Math.max(
      0,
      rows.findIndex((row) => row.id === id),
    ),
  }
}

/** Takes, or keeps, the lease of a job for so long; false when another node has it. */
export async function takeLease(db: Db, name: string, node: string, forMs: number): Promise<boolean> {
  const [result] = await db.write({
    sql: `insert into leases (name, node, until) values (?, ?, ${nowText} + ?)
      on conflict (name) do update set node = excluded.node, until = excluded.until
      where leases.node = excluded.node or leases.until < ${nowText}`,
    parameters: [name, node, forMs],
  })
  return result?.changes === 1
}

/** Gives a lease up, so that another node has it with its next look. */
export async function dropLease(db: Db, name: string, node: string): Promise<void> {
  await db.write({ sql: 'delete from leases where name = ? and node = ?', parameters: [name, node] })
}
