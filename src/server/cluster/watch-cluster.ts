/**
 * The watch over the ledger of a cluster. Each look recomputes what has come since the last one and compares it with all
 * that follows from it: it costs what is new. Whatever was there before is gone through again and again beside that, a
 * little at a time (passes.ts): it costs always the same. What was found bad stays so.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../../db/db.ts'
import { endsNow } from '../../db/postgres/high-water-marks.ts'
import { Moments } from '../../db/postgres/snapshot.ts'
import { cursorText } from '../../db/rollup.ts'
import type { LedgerVerdict } from '../../http/house.ts'
import { openHold } from '../../ledger/apply.ts'
import { decodeHold } from '../../ledger/checkpoint.ts'
import { emptyState } from '../../ledger/state.ts'
import { droppedUpTo, restTimes, type Snapshots } from '../verification/table-sums.ts'
import type { WatchListener } from '../verify-thread.ts'
import { headsNow, openHoldsNow, ownersNow } from '../verification/cluster-ledger-pages.ts'
import { ownerOfSharedRow } from './owner-rows.ts'
import { recomputeAll, sumUpAll, type Pass } from './passes.ts'
import { ClusterReading, type Beginning } from '../verification/verify-cluster.ts'

/** What the rows say of this moment. */
async function beginningNow(db: Db): Promise<Beginning> {
  const state = emptyState()
  for (const row of await ownersNow(db)) state.owners.set(row.id, ownerOfSharedRow(row))
  for (const row of await openHoldsNow(db)) openHold(state, { kind: 'held', ...decodeHold(row.body, null) })
  return { state, heads: await headsNow(db), last: await endsNow(db) }
}

interface Begun {
  readonly reading: ClusterReading
  /** Up to this number all request rows could be seen when it looked last: only those are counted, and may be deleted. */
  readonly seen: number
}

async function rolledUpTo(db: Db): Promise<number> {
  const [row] = await db.report<{ position: number }>({ sql: cursorText, parameters: [] })
  return row?.position ?? 0
}

async function begin(db: Db): Promise<Begun> {
  return { reading: new ClusterReading(await beginningNow(db)), seen: await rolledUpTo(db) }
}

/**
 * A machine that slept for long has deleted rows before they were looked at, or a failover has lost commits. Whether what is
 * left fits together is for the passes to say.
 */
async function isGone(db: Db, { reading, seen }: Begun): Promise<boolean> {
  return (await droppedUpTo(db)) > seen || !(await reading.isThere(db))
}

export class ClusterWatch {
  readonly #url: string
  readonly #listener: WatchListener
  #begun: Begun | null = null
  #bad: LedgerVerdict | null = null

  /** `listener` hears of what the passes find; what a look comes to is returned. */
  constructor(url: string, listener: WatchListener) {
    this.#url = url
    this.#listener = listener
  }

  /** Compares what has come since the last look; the first one begins. One look at a time. */
  async look(): Promise<LedgerVerdict> {
    if (this.#bad) return this.#bad
    const moments = new Moments(this.#url, 'sluice watch')
    try {
      const verdict = await moments.look((db) => this.#follow(db))
      if (!verdict.ok) this.#bad ??= verdict
      return this.#bad ?? verdict
    } finally {
      await moments.close()
    }
  }

  async #follow(db: Db): Promise<LedgerVerdict> {
    if (this.#begun && (await isGone(db, this.#begun))) this.#begun = null
    const { reading } = (this.#begun ??= await begin(db))
    await reading.read(db)
    await reading.compareSums(db)
    const verdict = await reading.verdict(db)
    this.#begun = { reading, seen: await rolledUpTo(db) }
    return verdict
  }

  /** Goes through everything for as long as nothing is found; between two passes, and after a failure, at least so long. */
  async goThroughAll(pauseMs: number): Promise<void> {
    await Promise.all([sumUpAll, recomputeAll].map((pass) => this.#repeat(pass, pauseMs)))
  }

  async #repeat(pass: Pass, pauseMs: number): Promise<void> {
    while (!this.#bad) {
      const moments = new Moments(this.#url, 'sluice watch of all')
      const look: Snapshots = (read) => this.#patiently(() => moments.look(read), pauseMs)
      const startedAt = performance.now()
      const verdict = await pass(look)
      const tookMs = performance.now() - startedAt
      await moments.close()
      if (verdict && !verdict.ok) {
        this.#bad ??= verdict
        this.#listener.verdict(this.#bad)
      } else await delay(Math.max(pauseMs, tookMs * restTimes))
    }
  }

  /** A database that is away for a while does not make a pass of hours begin anew. */
  async #patiently<Result>(look: () => Promise<Result>, pauseMs: number): Promise<Result> {
    for (;;) {
      try {
        return await look()
      } catch (error) {
        this.#listener.failed(error)
        await delay(pauseMs)
      }
    }
  }
}
