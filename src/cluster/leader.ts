/** The leader is the node with the lease. It does roll-ups, deletes old rows, and ends the holds of retired nodes, for all nodes. */
import type { Client } from 'pg'
import type { Db } from '../db/db.ts'
import { openClient } from '../db/postgres/connection.ts'
import { releaseLease, acquireLease } from '../db/postgres/nodes.ts'
import { deleteExpiredResponses, deleteRequestsShared } from '../db/postgres/retention.ts'
import { RequestRetention } from '../db/retention/request-retention.ts'
import { deleteOldMinutes } from '../usage/rollups/availability-rollup.ts'
import { backfillTokensShared, rollUpShared } from '../usage/rollups/shared-rollup.ts'
import type { CoreListener } from '../engine/core.ts'
import type { NodeMembership } from './node-membership.ts'

const runEveryMs = 1000
const lease = 'jobs'
const leaseMs = 10_000
/** How often expired rows are deleted, and holds of nodes that an operator has retired are looked for. */
const maintenanceEveryMs = 10_000
const statementMs = 30_000

export interface LeaderDeps {
  readonly url: string
  readonly db: Db
  readonly id: string
  readonly node: NodeMembership
  /** 0: request rows are kept forever. */
  readonly requestsKeptMs: number
  readonly listener: CoreListener
}

export class Leader {
  readonly #deps: LeaderDeps
  readonly #retention: RequestRetention
  #client: Client | null = null
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #maintainedAt = 0
  #isClosed = false
  /** Until when this node certainly has the lease, by its own clock. */
  #leaderUntil = -Infinity

  constructor(deps: LeaderDeps) {
    this.#deps = deps
    this.#retention = new RequestRetention(deps.requestsKeptMs, (requests) =>
      deps.listener.onRequestsDeleted(requests),
    )
    this.#schedule()
  }

  /** Whether this node has the lease; false once a run has taken too long to renew it in time. */
  get isLeader(): boolean {
    return performance.now() < this.#leaderUntil
  }

  #schedule(): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#running = this.#run().finally(() => this.#schedule())
    }, runEveryMs)
  }

  async #run(): Promise<void> {
    const { db, id, url } = this.#deps
    try {
      const requestedAt = performance.now()
      this.#leaderUntil = (await acquireLease(db, lease, id, leaseMs)) ? requestedAt + leaseMs : -Infinity
      if (!this.isLeader) return
      await this.#retireSilent()
      this.#client ??= await openClient({ url, name: `sluice ${id} jobs`, statementMs })
      // Stops early enough to renew the lease.
      await rollUpShared(this.#client, this.#isWithin(leaseMs / 3))
      if (performance.now() - this.#maintainedAt > maintenanceEveryMs) await this.#runMaintenance()
      await this.#deleteRequests(this.#client)
      const hasTime = this.#isWithin(runEveryMs)
      while (hasTime() && (await backfillTokensShared(this.#client)));
    } catch {
      this.#leaderUntil = -Infinity
      void this.#client?.end().catch(() => undefined)
      this.#client = null
    }
  }

  /** Whether less than this time has passed since the call. */
  #isWithin(durationMs: number): () => boolean {
    const end = performance.now() + durationMs
    return () => !this.#isClosed && performance.now() < end
  }

  /** Runs until the next run is due, which renews the lease. */
  async #deleteRequests(client: Client): Promise<void> {
    const hasTime = this.#isWithin(runEveryMs)
    for (let { cutoff } = this.#retention; cutoff !== null && hasTime(); { cutoff } = this.#retention)
      this.#retention.recordDeleted(await deleteRequestsShared(client, cutoff))
  }

  /** Comes first in each run: the money of a dead node's customers is held until then. */
  async #retireSilent(): Promise<void> {
    const { node, listener } = this.#deps
    const retired = await node.retireSilent()
    if (retired.length === 0) return
    listener.onWarning('retired silent nodes', { nodes: retired })
    await this.#endHoldsOfRetired()
  }

  async #endHoldsOfRetired(): Promise<void> {
    const { node, listener } = this.#deps
    const holds = await node.endHoldsOfRetired()
    if (holds > 0) listener.onWarning('settled open holds of retired nodes', { holds })
  }

  async #runMaintenance(): Promise<void> {
    const { db } = this.#deps
    await this.#endHoldsOfRetired()
    await deleteExpiredResponses(db, Date.now())
    await deleteOldMinutes(db, Date.now())
    this.#maintainedAt = performance.now()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
    const { db, id } = this.#deps
    if (this.isLeader) await releaseLease(db, lease, id).catch(() => undefined)
    await this.#client?.end().catch(() => undefined)
  }
}
