/**
 * A node's membership in its cluster: it sends heartbeats, and knows how many nodes share the limits. A retired node
 * rejoins. The leader ends the holds of nodes that stay away.
 */
import type { NetworkInterfaceInfo } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import type { HoldRow } from '../db/postgres/lock-batch.ts'
import {
  listHoldsOfRetiredNodes,
  leaveCluster,
  listNodes,
  recordHeartbeat,
  listOpenHolds,
  listRunningNodes,
  retireNode,
  retireSilentNode,
  findOtherMachine,
} from '../db/postgres/nodes.ts'
import { DatabaseMovedError } from '../db/transfer/move-marker.ts'
import { apiError, notFound } from '../errors.ts'
import type { NodeRecord } from '../db/postgres/nodes.ts'
import { decodeHold } from '../ledger/checkpoint.ts'
import { heldOwners } from '../ledger/decide.ts'
import type { Hold } from '../ledger/state.ts'
import type { Directory } from '../accounts/directory.ts'
import { capsOfHold } from '../engine/caller-limits.ts'
import type { CoreListener } from '../engine/core.ts'
import type { NodePosition } from '../limits/local-rate-limiter.ts'
import { retiredWhy } from '../engine/postgres/ledger-errors.ts'
import type { SharedLedger } from '../engine/postgres/shared-ledger.ts'
import { SilentNodes } from './silent-nodes.ts'

const heartbeatEveryMs = 2000
/** A node without a heartbeat for this long gets no share of the limits. */
const aliveTimeoutMs = 15_000
const holdsPerBatch = 500
const rejoinPauseMs = 500

/** Another process runs under this node's id: one of the two must stop. */
const duplicateWhy = (id: string, where: string): string =>
  `another process runs as ${id}, on ${where}. Each node needs its own DATA_DIR, not a copy of another node's`

export interface NodeMembershipDeps {
  readonly db: Db
  readonly id: string
  readonly ledger: SharedLedger
  readonly now: () => number
  /** Milliseconds of a clock that is never set. */
  readonly monotonicNow: () => number
  /** A node without a heartbeat for this long is retired. */
  readonly retireAfterMs: number
  /** Begins a new epoch of this node. */
  readonly join: () => Promise<number>
  readonly listener: Pick<CoreListener, 'onWarning' | 'onFailure'>
  /** A hold of a retired node is about to be ended. */
  readonly onHoldEnded: (hold: Hold) => void
}

export class NodeMembership {
  /** Has the caps of the holds that this node ends. Until it is loaded, none may be charged more than it holds. */
  directory: Directory | undefined
  readonly #deps: NodeMembershipDeps
  readonly #timer: NodeJS.Timeout
  #position: NodePosition = { nodes: 1, index: 0 }
  #refreshedAt: number
  readonly #silentNodes = new SilentNodes()
  #epoch: number
  #isRejoining = false

  constructor(deps: NodeMembershipDeps, epoch: number) {
    this.#deps = deps
    this.#epoch = epoch
    this.#refreshedAt = deps.monotonicNow()
    this.#timer = setInterval(() => void this.#heartbeat(), heartbeatEveryMs)
  }

  get position(): NodePosition {
    return this.#position
  }

  /** Counts the nodes that share the limits. Nodes that were alive before an outage of the database count after it. */
  async refresh(): Promise<void> {
    const { db, id: own, monotonicNow } = this.#deps
    const at = monotonicNow()
    const running = await listRunningNodes(db, aliveTimeoutMs + at - this.#refreshedAt)
    const alive = running.filter(({ id, isAlive }) => isAlive || id === own)
    const index = alive.findIndex(({ id }) => id === own)
    this.#position = { nodes: Math.max(1, alive.length), index: Math.max(0, index) }
    this.#refreshedAt = at
    this.#silentNodes.observe(running, at)
  }

  async #heartbeat(): Promise<void> {
    try {
      const epoch = this.#epoch
      if (!(await recordHeartbeat(this.#deps.db, this.#deps.id, epoch)) && epoch === this.#epoch)
        this.rejoin(retiredWhy)
      await this.refresh()
    } catch {
      this.#deps.ledger.retryNow()
    }
  }

  /** Retires the nodes that have been silent for too long. Returns their ids. */
  async retireSilent(): Promise<string[]> {
    const { db, id: own, retireAfterMs } = this.#deps
    const retired: string[] = []
    for (const silent of this.#silentNodes.silentFor(retireAfterMs)) {
      if (silent.id !== own && (await retireSilentNode(db, silent))) retired.push(silent.id)
    }
    return retired
  }

  async list(): Promise<NodeRecord[]> {
    const rows = await listNodes(this.#deps.db)
    return rows.map(
      ({ id, name, address, version, state, started_at: startedAt, seen_at: seenAt, open_holds, now }) => ({
        id,
        name,
        address,
        version,
        state: state === 'running' && now - seenAt > aliveTimeoutMs ? 'silent' : state,
        startedAt,
        seenAt,
        openHolds: open_holds,
        isSelf: id === this.#deps.id,
      }),
    )
  }

  /** Retires another node. Returns how many of its holds were settled. Throws an ApiError. */
  async retire(id: string): Promise<number> {
    if (id === this.#deps.id)
      throw apiError('conflict', {
        message: 'A node cannot retire itself. Stop it, or send the request to another node.',
      })
    if (!(await retireNode(this.#deps.db, id))) throw notFound('Node')
    return this.endHoldsOfRetired()
  }

  /** Ends the holds of retired nodes at their last uploaded marks. Returns how many there were. */
  async endHoldsOfRetired(): Promise<number> {
    let ended = 0
    for (;;) {
      const rows = await listHoldsOfRetiredNodes(this.#deps.db, holdsPerBatch)
      if (rows.length === 0) return ended
      await Promise.all(rows.map((row) => this.#expireHold(row)))
      ended += rows.length
    }
  }

  /** The node's epoch is over: rejoins the cluster, with retries. A call while it runs has no effect. */
  rejoin(why: string): void {
    if (this.#isRejoining) return
    this.#isRejoining = true
    void this.#rejoin(why)
  }

  async #rejoin(why: string): Promise<void> {
    const { db, id, listener, join } = this.#deps
    let isRetired = false
    for (;;) {
      try {
        if (!isRetired) {
          const where = await findOtherMachine(db, id, this.#epoch)
          if (where !== null) return listener.onFailure(duplicateWhy(id, where))
          listener.onWarning(why, { node: id })
          isRetired = true
        }
        await this.#continueInEpoch(await join())
        break
      } catch (error) {
        if (error instanceof DatabaseMovedError) return listener.onFailure(error.message)
        await delay(rejoinPauseMs)
      }
    }
    this.#isRejoining = false
  }

  /** The holds of the old epoch no longer belong to this node. */
  async #continueInEpoch(epoch: number): Promise<void> {
    this.#epoch = epoch
    const rows = await listOpenHolds(this.#deps.db, this.#deps.id)
    await this.#deps.ledger.rejoin(epoch)
    // Not awaited: if this epoch ends as well in the meantime, the next one repeats it.
    for (const row of rows) void this.#expireHold(row)
  }

  async #expireHold(row: HoldRow): Promise<void> {
    const hold = decodeHold(row.body, null)
    this.#deps.onHoldEnded(hold)
    const { ledger, now } = this.#deps
    const caps = capsOfHold(this.directory, hold)
    const expire = { kind: 'expire', id: hold.id, at: now(), caps, upstream: null } as const
    await ledger.decide(expire, heldOwners(hold))
  }

  async leave(): Promise<void> {
    clearInterval(this.#timer)
    await leaveCluster(this.#deps.db, this.#deps.id, this.#epoch).catch(() => undefined)
  }
}

/**
 * The address under which the operator reaches a node, `host:port`: HOST, or, if the node listens on all interfaces, the first address of the machine that other machines can
 * use, IPv4 preferred.
 */
export function nodeAddress(
  { host, port }: Pick<Config, 'host' | 'port'>,
  interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>,
): string {
  const isWildcard = ['0.0.0.0', '::', ''].includes(host)
  const external = Object.values(interfaces).flatMap(
    (each) => each?.filter(({ internal }) => !internal) ?? [],
  )
  const found = external.find(({ family }) => family === 'IPv4') ?? external[0]
  const address = isWildcard ? (found?.address ?? host) : host
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}
