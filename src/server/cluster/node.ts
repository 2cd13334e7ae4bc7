/**
 * A node's place in its cluster: it says that it is alive, and knows how many share the work. A node that was retired
 * joins again; holds of nodes that are gone are ended by whoever finds them.
 */
import type { Db } from '../../db/db.ts'
import type { HoldRow } from '../../db/postgres/ledger-rows.ts'
import {
  holdsOfRetired,
  leaveCluster,
  listNodes,
  noteAlive,
  openHoldsOf,
  placeAmongNodes,
  retireNode,
  runsElsewhere,
  silentNodes,
} from '../../db/postgres/nodes.ts'
import { refuse } from '../../errors.ts'
import type { NodeRecord } from '../../http/house.ts'
import { decodeHold } from '../../ledger/checkpoint.ts'
import { accountOwner, keyOwner, type Hold } from '../../ledger/state.ts'
import { noCaps } from '../ledger/caller-limits.ts'
import type { Place } from '../../limits/node-rates.ts'
import { fencedWhy } from './ledger-parts.ts'
import type { SharedLedger } from './shared-ledger.ts'

const aliveEveryMs = 2000
/** Who was not heard of for so long takes no share of the limits. */
const aliveMs = 15_000
/** Who was not heard of for so long is retired. */
const silentMs = 15 * 60_000
/** After an absence of the database everybody was silent: who lives says so within this time. */
const answerMs = 10_000
const holdsPerRound = 500

export interface NodeParts {
  readonly db: Db
  readonly id: string
  readonly ledger: SharedLedger
  readonly now: () => number
  /** The node's epoch is over. */
  readonly fenced: (why: string) => void
  /** A hold of a node that is gone is being ended. */
  readonly freed: (hold: Hold) => void
}

export class Node {
  readonly #parts: NodeParts
  readonly #timer: NodeJS.Timeout
  #place: Place = { nodes: 1, place: 0 }
  #lookedAt: number
  /** Since when nodes were found silent, by this node's clock. */
  #silentFrom = new Map<string, number>()
  #epoch: number

  constructor(parts: NodeParts, epoch: number) {
    this.#parts = parts
    this.#epoch = epoch
    this.#lookedAt = parts.now()
    this.#timer = setInterval(() => void this.#beat(), aliveEveryMs)
  }

  /** The machine where another process runs in this node's name; null: none does. */
  runsElsewhere(): Promise<string | null> {
    return runsElsewhere(this.#parts.db, this.#parts.id, this.#epoch)
  }

  get place(): Place {
    return this.#place
  }

  /** Looks how many share the work. Who was heard of before an absence of the database is taken to be there after it. */
  async look(): Promise<void> {
    const at = this.#parts.now()
    this.#place = await placeAmongNodes(this.#parts.db, this.#parts.id, aliveMs + at - this.#lookedAt)
    this.#lookedAt = at
  }

  async #beat(): Promise<void> {
    try {
      const epoch = this.#epoch
      if (!(await noteAlive(this.#parts.db, this.#parts.id, epoch)) && epoch === this.#epoch)
        this.#parts.fenced(fencedWhy)
      await this.look()
    } catch {
      this.#parts.ledger.lookAgain()
    }
  }

  /** Retires the nodes that have been silent for too long, and still are some time after it was found; tells which. */
  async retireSilent(): Promise<string[]> {
    const { db, id: own, now } = this.#parts
    const at = now()
    const silent = (await silentNodes(db, silentMs)).filter((id) => id !== own)
    this.#silentFrom = new Map(silent.map((id) => [id, this.#silentFrom.get(id) ?? at]))
    const gone = silent.filter((id) => at - (this.#silentFrom.get(id) ?? at) >= answerMs)
    for (const id of gone) await retireNode(db, id)
    return gone
  }

  async all(): Promise<NodeRecord[]> {
    const rows = await listNodes(this.#parts.db)
    return rows.map(
      ({ id, name, version, state, started_at: startedAt, seen_at: seenAt, open_holds, now }) => ({
        id,
        name,
        version,
        state: state === 'running' && now - seenAt > aliveMs ? 'silent' : state,
        startedAt,
        seenAt,
        openHolds: open_holds,
      }),
    )
  }

  /** Gives up another node; tells how many of its requests were settled. Throws a refusal. */
  async retire(id: string): Promise<number> {
    if (id === this.#parts.id)
      throw refuse('conflict', { message: 'This is the node that was asked: stop it, or ask another.' })
    if (!(await retireNode(this.#parts.db, id)))
      throw refuse('not_found', { message: 'There is no such node.' })
    return this.endHoldsOfRetired()
  }

  /** Ends what retired nodes hold, at their last uploaded marks; tells how many. */
  async endHoldsOfRetired(): Promise<number> {
    let ended = 0
    for (;;) {
      const rows = await holdsOfRetired(this.#parts.db, holdsPerRound)
      if (rows.length === 0) return ended
      await Promise.all(rows.map((row) => this.#end(row)))
      ended += rows.length
    }
  }

  /** Goes on in the new epoch: what this node held in the old one was not its own any more. */
  async goOnIn(epoch: number): Promise<void> {
    this.#epoch = epoch
    const rows = await openHoldsOf(this.#parts.db, this.#parts.id)
    await this.#parts.ledger.rejoin(epoch)
    // Nobody waits for it: should this epoch end as well meanwhile, the next goes through them again.
    for (const row of rows) void this.#end(row)
  }

  #end(row: HoldRow): Promise<void> {
    const hold = decodeHold(row.body, null)
    const { id, account, key } = hold
    this.#parts.freed(hold)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#parts.ledger.add({
      kind: 'expire',
      id,
      at: this.#parts.now(),
      caps: noCaps,
      owners: [accountOwner(account), keyOwner(key)],
      upstream: null,
      isRetired: true,
      answer: resolve,
    })
    return promise
  }

  async leave(): Promise<void> {
    clearInterval(this.#timer)
    await leaveCluster(this.#parts.db, this.#parts.id, this.#epoch).catch(() => undefined)
  }
}
