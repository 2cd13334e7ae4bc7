/** What one node does for all: roll-ups, forgetting what is over, ending what nodes that are gone have left behind. */
import type { Client } from 'pg'
import type { Db } from '../../db/db.ts'
import { dropExpiredAnswers, forgetOldMinutes } from '../../db/postgres/upkeep.ts'
import { openClient } from '../../db/postgres/connection.ts'
import { dropLease, takeLease } from '../../db/postgres/nodes.ts'
import { dropRequestsShared } from '../../db/postgres/drop-requests.ts'
import { fillTokensShared, rollUpShared } from '../../usage/rollups/shared-rollup.ts'
import { RequestRetention } from '../../db/request-retention.ts'
import type { CoreListener } from '../core.ts'
import type { Node } from './node.ts'

const everyMs = 1000
const lease = 'jobs'
const leaseMs = 10_000
/** Nodes that are gone, and what is over, are looked for so often. */
const rareEveryMs = 10_000
const statementMs = 30_000

export interface JobParts {
  readonly url: string
  readonly db: Db
  readonly id: string
  readonly node: Node
  /** 0: request rows are kept for good. */
  readonly requestsKeptMs: number
  readonly listener: Pick<CoreListener, 'dropped' | 'noted'>
}

export class Jobs {
  readonly #parts: JobParts
  readonly #retention: RequestRetention
  #client: Client | null = null
  #timer: NodeJS.Timeout | undefined
  #round: Promise<void> = Promise.resolve()
  #rareAt = 0
  #isOver = false
  /** Until when this node has the lease for certain, by its own clock. */
  #oursUntil = -Infinity

  constructor(parts: JobParts) {
    this.#parts = parts
    this.#retention = new RequestRetention(parts.requestsKeptMs, (requests) =>
      parts.listener.dropped(requests),
    )
    this.#later()
  }

  /** This node has the lease: not any longer where a round of its own has lasted too long to keep it. */
  get isOurs(): boolean {
    return performance.now() < this.#oursUntil
  }

  #later(): void {
    if (this.#isOver) return
    this.#timer = setTimeout(() => {
      this.#round = this.#run().finally(() => this.#later())
    }, everyMs)
  }

  async #run(): Promise<void> {
    const { db, id, url } = this.#parts
    try {
      const askedAt = performance.now()
      this.#oursUntil = (await takeLease(db, lease, id, leaseMs)) ? askedAt + leaseMs : -Infinity
      if (!this.isOurs) return
      this.#client ??= await openClient({ url, name: `sluice ${id} jobs`, statementMs })
      await this.#rollUp(this.#client)
      if (performance.now() - this.#rareAt > rareEveryMs) await this.#runRare()
      await this.#dropRequests(this.#client)
      await this.#fillTokens(this.#client)
    } catch {
      this.#oursUntil = -Infinity
      void this.#client?.end().catch(() => undefined)
      this.#client = null
    }
  }

  /** So much at a time that the lease lasts. */
  async #rollUp(client: Client): Promise<void> {
    const end = performance.now() + leaseMs / 3
    await rollUpShared(client, () => !this.#isOver && performance.now() < end)
  }

  /** For no longer than until the next round, which shows whether the lease is still ours. */
  async #dropRequests(client: Client): Promise<void> {
    const end = performance.now() + everyMs
    while (!this.#isOver && performance.now() < end) {
      const { before } = this.#retention
      if (before === null) return
      this.#retention.note(await dropRequestsShared(client, before))
    }
  }

  /** For as long. */
  async #fillTokens(client: Client): Promise<void> {
    const end = performance.now() + everyMs
    while (!this.#isOver && performance.now() < end && (await fillTokensShared(client)));
  }

  async #runRare(): Promise<void> {
    const { db, node, listener } = this.#parts
    const retired = await node.retireSilent()
    if (retired.length > 0)
      listener.noted('nodes that were silent for 15 minutes were retired', { nodes: retired })
    const holds = await node.endHoldsOfRetired()
    if (holds > 0) listener.noted('requests of retired nodes were settled', { holds })
    await dropExpiredAnswers(db, Date.now())
    await forgetOldMinutes(db, Date.now())
    this.#rareAt = performance.now()
  }

  async close(): Promise<void> {
    this.#isOver = true
    clearTimeout(this.#timer)
    await this.#round
    const { db, id } = this.#parts
    if (this.isOurs) await dropLease(db, lease, id).catch(() => undefined)
    await this.#client?.end().catch(() => undefined)
  }
}
