/**
 * Recomputes the ledger of a cluster from the chains of its nodes, in the order in which their commits have locked what
 * they touched, and compares everything derived with it: entries, owners, open holds, request rows.
 */
import type { Selectable } from 'kysely'
import { chainHash, chainStart } from '../../db/journal.ts'
import type { Db } from '../../db/db.ts'
import { sharedOwnerColumns, type HoldRow, type SharedOwnerRow } from '../../db/postgres/ledger-rows.ts'
import { sql, type EntriesTable } from '../../db/schema.ts'
import type { LedgerVerdict } from '../../http/house.ts'
import { LedgerBroken } from '../../ledger/apply.ts'
import { encodeHold } from '../../ledger/checkpoint.ts'
import { decodeEvents, JournalUnreadable } from '../../ledger/journal.ts'
import { emptyOwner } from '../../ledger/state.ts'
import { Recomputation, sumOfDropped, type DroppedBills } from '../../ledger/verify.ts'
import { storedOwner } from '../restore-ledger.ts'
import { transferOf } from '../verify-ledger.ts'
import { sharedRowOf } from './owner-rows.ts'

const pageRows = 500
/** A statement takes 65,535 parameters. */
const billsAtOnce = 10_000

interface CommitRow {
  readonly seq: number
  readonly body: string
  readonly prev: Uint8Array
  readonly hash: Uint8Array
  readonly node: string
  readonly number: number
}

class BrokenChain extends Error {
  constructor({ node, number }: CommitRow) {
    super(
      `The journal of ${node === '' ? 'the relay before the nodes' : `node ${node}`} is broken at its commit ${number}: its hash does not follow from the commit before.`,
    )
  }
}

const isSame = (left: Uint8Array, right: Uint8Array): boolean => Buffer.compare(left, right) === 0

export class ClusterReading {
  readonly #recomputation = new Recomputation()
  readonly #heads = new Map<string, { number: number; hash: Uint8Array }>()
  #charged = 0n
  #dropped: DroppedBills = { bills: 0, cost: 0n }
  #broken = false

  /** Reads to the end of every chain and compares. `db` has to see a single moment. Once broken, always broken. */
  async follow(db: Db): Promise<LedgerVerdict> {
    try {
      if (!this.#broken) await this.#read(db)
    } catch (error) {
      const isFinding =
        error instanceof BrokenChain || error instanceof LedgerBroken || error instanceof JournalUnreadable
      if (!isFinding) throw error
      this.#broken = true
      this.#recomputation.find(error.message)
    }
    await this.#compareHolds(db)
    await this.#compareSums(db)
    const owners = await db.report<SharedOwnerRow>({
      sql: `select ${sharedOwnerColumns.join(', ')} from owners`,
      parameters: [],
    })
    this.#compareHeld(owners)
    return this.#recomputation.verdict(owners.map((row) => [row.id, storedOwner(row)] as const))
  }

  async #read(db: Db): Promise<void> {
    this.#dropped = sumOfDropped(await db.report(sql.selectFrom('dropped_bills').selectAll()))
    const found = await db.report<{ node: string }>({
      sql: 'select distinct node from journal',
      parameters: [],
    })
    const nodes = found.map(({ node }) => node)
    for (;;) {
      const page = await this.#nextPage(db, nodes)
      if (page.length === 0) return
      const entries = await this.#entriesOf(db, page)
      const charged: string[] = []
      for (const commit of page) {
        const head = this.#heads.get(commit.node) ?? { number: 0, hash: chainStart }
        const follows = commit.number === head.number + 1 && isSame(commit.prev, head.hash)
        if (!follows || !isSame(commit.hash, chainHash(commit.prev, commit.body)))
          throw new BrokenChain(commit)
        for (const event of decodeEvents(commit.body)) {
          if (event.kind !== 'settled' || event.charge === 0n) continue
          charged.push(event.id)
          this.#charged += event.charge
        }
        this.#recomputation.take({
          seq: commit.seq,
          body: commit.body,
          entries: (entries.get(commit.seq) ?? []).map(transferOf),
          holds: undefined,
        })
        this.#heads.set(commit.node, { number: commit.number, hash: commit.hash })
      }
      await this.#readBills(db, charged)
      this.#recomputation.forgoAwaited(this.#dropped.bills)
    }
  }

  /**
   * The next commits of all nodes, in their order. A later snapshot may show commits between those that an earlier one
   * has shown, of nodes that were not done yet; so each node's are read after its own last one.
   */
  async #nextPage(db: Db, nodes: readonly string[]): Promise<CommitRow[]> {
    const pages: CommitRow[][] = []
    for (const node of nodes) {
      const page = await db.report<CommitRow>({
        sql: 'select seq, body, prev, hash, node, number from journal where node = ? and number > ? order by number limit ?',
        parameters: [node, this.#heads.get(node)?.number ?? 0, pageRows],
      })
      pages.push(page)
    }
    // Where a page was full, nothing after its end may be taken before the rest of that node's is read.
    const ends = pages.filter((page) => page.length === pageRows).map((page) => page.at(-1)?.seq ?? 0)
    const end = Math.min(Infinity, ...ends)
    return pages
      .flat()
      .filter(({ seq }) => seq <= end)
      .toSorted((one, other) => one.seq - other.seq)
  }

  async #entriesOf(db: Db, page: readonly CommitRow[]): Promise<Map<number, Selectable<EntriesTable>[]>> {
    const seqs = page.map(({ seq }) => seq)
    const query = sql.selectFrom('entries').selectAll().where('seq', 'in', seqs)
    return Map.groupBy(await db.report(query.orderBy('seq').orderBy('id')), ({ seq }) => seq)
  }

  async #readBills(db: Db, ids: readonly string[]): Promise<void> {
    for (let start = 0; start < ids.length; start += billsAtOnce)
      await this.#readSomeBills(db, ids.slice(start, start + billsAtOnce))
  }

  async #readSomeBills(db: Db, ids: readonly string[]): Promise<void> {
    const columns = ['request_id', 'cost_nanos', 'prompt_tokens', 'cached_tokens'] as const
    const query = sql
      .selectFrom('requests')
      .select([...columns, 'completion_tokens', 'reasoning_tokens'])
      .where('request_id', 'in', ids)
    for (const row of await db.report(query)) {
      this.#recomputation.takeBill({
        id: row.request_id,
        cost: row.cost_nanos,
        input: row.prompt_tokens,
        cachedInput: row.cached_tokens,
        output: row.completion_tokens,
        reasoning: row.reasoning_tokens,
      })
    }
  }

  /** Nothing may be there that the journal does not give: entries or costs beyond those that were compared. */
  async #compareSums(db: Db): Promise<void> {
    const [found] = await db.report<{ entries: number; cost_nanos: bigint | null }>({
      sql: 'select (select count(*) from entries) as entries, (select sum(cost_nanos) from requests) as cost_nanos',
      parameters: [],
    })
    const { entries } = this.#recomputation
    if (found?.entries !== entries)
      this.#recomputation.find(`there are ${found?.entries} entries, the journal gives ${entries}`)
    const cost = (found?.cost_nanos ?? 0n) + this.#dropped.cost
    const drift = cost > this.#charged ? cost - this.#charged : this.#charged - cost
    if (drift > 0n)
      this.#recomputation.find(
        `the request rows cost ${cost} nanos, the journal has charged ${this.#charged}`,
        drift,
      )
  }

  async #compareHolds(db: Db): Promise<void> {
    const rows = await db.report<HoldRow>({
      sql: 'select * from holds where retired_at is null',
      parameters: [],
    })
    const { holds } = this.#recomputation.state
    const found = new Map(rows.map((row) => [row.id, row.body]))
    for (const [id, hold] of holds) {
      if (found.get(id) !== encodeHold(hold))
        this.#recomputation.find(`the hold ${id} differs from its row, or has none`)
    }
    for (const id of found.keys()) {
      if (!holds.has(id)) this.#recomputation.find(`the row of hold ${id} belongs to no open hold`)
    }
  }

  #compareHeld(rows: readonly SharedOwnerRow[]): void {
    const { owners } = this.#recomputation.state
    for (const row of rows) {
      const computed = sharedRowOf(row.id, owners.get(row.id) ?? emptyOwner())
      const names = (['held_nanos', 'day_held_nanos', 'month_held_nanos', 'past'] as const).filter(
        (name) => computed[name] !== row[name],
      )
      if (names.length > 0)
        this.#recomputation.find(`the row of ${row.id} differs from the journal in ${names.join(', ')}`)
    }
  }
}
