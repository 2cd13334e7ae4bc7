/** The core of a single node, over SQLite: every decision is made in memory, and becomes durable with a commit. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { apiError } from '../../errors.ts'
import { loadLeftPeriods } from '../../db/left-periods.ts'
import type { RequestRow } from '../../db/ledger-commit.ts'
import { openReadOnly } from '../../db/sqlite/read-only.ts'
import { databaseFileName, openStore, type Store } from '../../db/sqlite/store.ts'
import { checkNotMoved } from '../../db/transfer/move-marker.ts'
import type { CommitQueue } from './commit-queue.ts'
import { EmbeddedLedger } from './embedded-ledger.ts'
import { openCurrency } from '../../db/currency.ts'
import { openSealer } from '../../db/data-keys.ts'
import { EarlyAborts } from '../../limits/early-aborts.ts'
import { LocalRateLimiter } from '../../limits/local-rate-limiter.ts'
import { openConfigCache } from '../config-cache.ts'
import { createEngine } from '../engine.ts'
import { reopeningFailed } from '../reopening.ts'
import { recoverLedger } from './recovery.ts'
import { verifyInThread, monitorInThread } from '../verification/verify-thread.ts'
import { monotonicClock, wallClock, type Core, type CoreListener } from '../core.ts'

/** While the disk is full, at most this many rows of rejected requests wait in memory; further ones are only counted. */
const maxQueuedRows = 10_000
/** No other node shares the rate limits. */
const wholeLimits = { nodes: 1, index: 0 }

/** False: the store accepts no commits, and too many rows wait for it. */
function enqueueRow(commits: CommitQueue, row: RequestRow): boolean {
  if (!commits.isAdmitting && commits.queuedRequests >= maxQueuedRows) return false
  commits.addRequest(row)
  return true
}

/** The parts of a Core that concern a cluster. */
const singleNode = {
  nodeId: null,
  gauges: () => [],
  isCurrent: () => Promise.resolve(true),
  isLeader: () => true,
  nodes: () => Promise.resolve([]),
  retireNode: () =>
    Promise.reject(apiError('not_found', { message: 'This relay is not part of a cluster.' })),
} satisfies Partial<Core>

/** Throws if the database of the directory was moved elsewhere. Reads only: a move compares what is in the file. */
async function checkDirectoryNotMoved(dataDir: string): Promise<void> {
  const path = join(dataDir, databaseFileName)
  if (!existsSync(path)) return
  using reader = openReadOnly(path)
  if (reader.hasTable('settings')) await checkNotMoved(reader.db)
}

/** Opens the store of the directory; its roll-ups and migrations begin at once. */
async function openUnmovedStore(config: Config, listener: CoreListener): Promise<Store> {
  await checkDirectoryNotMoved(config.dataDir)
  return openStore({
    dataDir: config.dataDir,
    maintenanceModule: new URL('../../usage/rollups/rollup.ts', import.meta.url),
    requestRetentionMs: config.requestsKeptMs,
    onRequestsDeleted: (requests) => listener.onRequestsDeleted(requests),
    onFailed: (why) => listener.onFailure(why),
  })
}

/** Opens a data directory that the caller has locked. Ends the holds that an earlier process left open. */
export async function openEmbeddedCore(config: Config, listener: CoreListener): Promise<Core> {
  const store = await openUnmovedStore(config, listener)
  const { db } = store
  const currency = await openCurrency(db, config.currency)
  const { sealer, reloadKeys } = await openSealer(db, config)
  const [recovered, configCache, leftPeriods] = await Promise.all([
    recoverLedger(store, Date.now()),
    openConfigCache(db, sealer),
    loadLeftPeriods(db),
  ])
  const { directory, catalog } = configCache
  const now = wallClock()
  const monotonicNow = monotonicClock()
  const onReopeningFailed = (why: string): void => listener.onWarning(reopeningFailed, { why })
  const deps = { sink: store, listener, now, monotonicNow, db, leftPeriods, onReopeningFailed }
  const ledger = new EmbeddedLedger(recovered, deps)
  const rates = new LocalRateLimiter(() => wholeLimits, monotonicNow, recovered.rates)
  const addRequest = (row: RequestRow): boolean => enqueueRow(ledger, row)
  const earlyAborts = new EarlyAborts(config.freeAbortsPerHour)
  const engineDeps = { db, currency, store: ledger, directory, catalog, rates, earlyAborts, feed: null }
  const engine = createEngine({ ...engineDeps, now, monotonicNow, addRequest })
  const openHolds = [...ledger.state.holds.keys()]
  for (const id of openHolds) void engine.parts.authority.expire(id)
  await ledger.drain()
  const path = join(config.dataDir, databaseFileName)
  return {
    ...engine.parts,
    ...singleNode,
    store,
    branding: configCache.branding,
    sealer,
    commits: ledger,
    recoveredHolds: openHolds.length,
    workerDbAccess() {
      const access = store.portsForWorker()
      return { db: access, ports: Object.values(access) }
    },
    verifyLedger: () => verifyInThread(path),
    monitorLedger: (everyMs, monitorListener) => monitorInThread(path, everyMs, monitorListener),
    publishChanges: (changes) =>
      configCache.publish(changes, { reloadKeys, broadcast: (delta) => listener.onConfigDelta(delta) }),
    async close() {
      await Promise.all([rates.close(), ledger.close()])
      await engine.close(() => ledger.drain())
      await store.close()
    },
  }
}
