/**
 * The core of a cluster node: the same as that of a single node (core.ts), over PostgreSQL. The node writes little to its
 * own disk and recovers it at startup: settlements that the database does not have, and the marks of streams of an earlier
 * process.
 */
import { hostname, networkInterfaces } from 'node:os'
import type { Config } from '../config.ts'
import type { Changes } from '../db/change.ts'
import type { RequestRow } from '../db/ledger-commit.ts'
import { openCurrency } from '../db/currency.ts'
import { openLocalJournal, type LocalJournal } from '../db/sqlite/local-journal.ts'
import { ChangeFeed } from '../db/postgres/change-feed.ts'
import { openPostgresDb } from '../db/postgres/postgres-db.ts'
import { migratePostgres } from '../db/postgres/migrate.ts'
import { joinCluster } from '../db/postgres/nodes.ts'
import { checkNotMoved } from '../db/transfer/move-marker.ts'
import { errorMessage } from '../lib/error-message.ts'
import { newId } from '../lib/ids.ts'
import { monotonicClock, wallClock, type Core, type CoreListener } from '../engine/core.ts'
import { reopeningFailed } from '../engine/reopening.ts'
import { openConfigCache } from '../engine/config-cache.ts'
import { version } from '../lib/version.ts'
import { EarlyAborts } from '../limits/early-aborts.ts'
import { LocalRateLimiter, type ClusterRateLimiter } from '../limits/local-rate-limiter.ts'
import { RedisRateLimiter } from '../limits/redis-rate-limiter.ts'
import { capsOfHold } from '../engine/caller-limits.ts'
import { Leader } from './leader.ts'
import { recoverOpenHolds, releaseRateSlot } from '../engine/postgres/recover-open-holds.ts'
import { nodeAddress, NodeMembership } from './node-membership.ts'
import { NodeJournal } from '../engine/postgres/node-journal.ts'
import { openNodeKeyring } from './node-keys.ts'
import { receiveBroadcast } from './broadcasts.ts'
import { CircuitBroadcast } from './circuit-broadcast.ts'
import { LedgerAlertBroadcast } from './ledger-alert-broadcast.ts'
import { SharedLedger } from '../engine/postgres/shared-ledger.ts'
import { SharedStore } from '../engine/postgres/shared-store.ts'
import { createEngine } from '../engine/engine.ts'
import { TrafficBroadcast } from './traffic-broadcast.ts'
import { verifyInThread, monitorInThread } from '../engine/verification/verify-thread.ts'

type ClusterConfig = Omit<Config, 'databaseUrl'> & { readonly databaseUrl: string }

/** This node's permanent id: created at its first start, kept in its data directory. */
async function loadNodeId(local: LocalJournal): Promise<string> {
  const known = local.contents.facts.get('node')
  if (known !== undefined) return known
  const id = newId('node')
  await local.write(['fact', 'node', id])
  return id
}

async function openNode(config: ClusterConfig) {
  const { databaseUrl, dataDir } = config
  const address = nodeAddress(config, networkInterfaces())
  await migratePostgres(databaseUrl)
  const local = await openLocalJournal(dataDir)
  const id = await loadNodeId(local)
  const db = openPostgresDb(databaseUrl, `sluice ${id}`)
  await checkNotMoved(db)
  const currency = await openCurrency(db, config.currency)
  return { local, db, id, currency, join: () => joinCluster(db, { id, name: hostname(), version, address }) }
}

/** Joins the cluster in a new epoch, and creates this node's ledger and rate limiter. */
async function joinAsNode(
  { local, db, id, currency, join }: Awaited<ReturnType<typeof openNode>>,
  config: ClusterConfig,
  listener: CoreListener,
) {
  const now = wallClock()
  const journal = new NodeJournal(local)
  const epoch = await join()
  const ledger = new SharedLedger({
    url: config.databaseUrl,
    node: id,
    epoch,
    now,
    db,
    journal,
    capsOf: (hold) => capsOfHold(node.directory, hold),
    listener: {
      onAdmissionChange: (isOpen, why) => listener.onAdmissionChange(isOpen, why),
      onFenced: (why) => node.rejoin(why),
      onBroken: (error) => listener.onFailure(errorMessage(error)),
      onReopeningFailed: (why) => listener.onWarning(reopeningFailed, { why }),
    },
  })
  const node: NodeMembership = new NodeMembership(
    {
      db,
      id,
      ledger,
      now,
      monotonicNow: monotonicClock(),
      retireAfterMs: config.nodeRetireAfterMs,
      join,
      listener,
      onHoldEnded: (hold) => releaseRateSlot(rates, hold),
    },
    epoch,
  )
  const rates = createRates(config, node, listener)
  await node.refresh()
  return { currency, ledger, journal, node, rates, now }
}

/** Limits are counted over all nodes if there is a Redis; otherwise each node admits its share. */
function createRates(
  { redisUrl, slotLeaseMs }: ClusterConfig,
  node: NodeMembership,
  listener: CoreListener,
): ClusterRateLimiter {
  const monotonicNow = monotonicClock()
  const local = new LocalRateLimiter(() => node.position, monotonicNow)
  if (redisUrl === null) return local
  return new RedisRateLimiter({
    url: redisUrl,
    leaseMs: slotLeaseMs,
    local,
    monotonicNow,
    onUnavailable: (why) =>
      listener.onWarning('Redis unavailable: using local rate limits', { why: `REDIS_URL: ${why}` }),
    onAvailable: () => listener.onWarning('Redis available: using shared rate limits', {}),
  })
}

function clusterGauges(
  node: NodeMembership,
  rates: ClusterRateLimiter,
  isLeader: boolean,
): ReturnType<Core['gauges']> {
  return [
    { name: 'sluice_nodes', help: 'Nodes of this cluster that are alive', value: node.position.nodes },
    {
      name: 'sluice_rates_shared',
      help: '1: rate limits are counted over all nodes; 0: each node admits its share of every limit',
      value: rates.isShared ? 1 : 0,
    },
    {
      name: 'sluice_leads',
      help: '1: this node is the leader and runs jobs, health checks and the ledger monitor',
      value: isLeader ? 1 : 0,
    },
  ]
}

/** Opens a node whose data directory the caller has locked. Ends the holds that an earlier process left open. */
export async function openClusterCore(config: ClusterConfig, listener: CoreListener): Promise<Core> {
  const { databaseUrl: url } = config
  const opened = await openNode(config)
  const { local, db, id } = opened
  const keyring = await openNodeKeyring(db, id, config)
  const joined = await joinAsNode(opened, config, listener)
  const { ledger, node, rates } = joined
  const feed: ChangeFeed = new ChangeFeed(
    { url, name: `sluice ${id}` },
    {
      async onChanges(changes) {
        await publishChanges(changes)
        await keyring.onApplied(changes)
      },
      onBroadcast: (text) => receiveBroadcast(text, [ledgerAlerts, upstreams.circuits, upstreams.traffic]),
      onConnected: () => upstreams.circuits?.sendAll(),
      onDisconnected: () => ledger.retryNow(),
    },
  )
  const send = (text: string): void => feed.broadcast(text)
  const ledgerAlerts = new LedgerAlertBroadcast(send)
  const upstreams: { circuits?: CircuitBroadcast; traffic?: TrafficBroadcast } = {}
  await feed.start().then(() => keyring.onJoined())
  const configCache = await openConfigCache(db, keyring.sealer)
  const { directory, catalog } = configCache
  node.directory = directory
  const { reloadKeys } = keyring
  const publishChanges = (changes: Changes): Promise<void> =>
    configCache.publish(changes, { reloadKeys, broadcast: (delta) => listener.onConfigDelta(delta) })
  const addRequest = (row: RequestRow): boolean => ledger.addRequest(row)
  const store = new SharedStore({ ...joined, db })
  const engineDeps = { ...joined, monotonicNow: monotonicClock(), db, store, directory, catalog, feed }
  const earlyAborts = new EarlyAborts(config.freeAbortsPerHour)
  const engine = createEngine({ ...engineDeps, earlyAborts, addRequest })
  const { authority, health } = engine.parts
  upstreams.circuits = new CircuitBroadcast(health.breakers, send)
  upstreams.traffic = new TrafficBroadcast(health, send)
  const recoveredHolds = await recoverOpenHolds({ ...opened, ...joined, authority })
  const leader = new Leader({ url, db, id, node, requestsKeptMs: config.requestsKeptMs, listener })
  const isLeader = (): boolean => leader.isLeader
  return {
    ...engine.parts,
    nodeId: id,
    store: { db },
    branding: configCache.branding,
    sealer: keyring.sealer,
    commits: ledger,
    recoveredHolds,
    workerDbAccess: () => ({ db: { url, name: `sluice ${id} worker` }, ports: [] }),
    gauges: () => clusterGauges(node, rates, leader.isLeader),
    isLeader,
    nodes: () => node.list(),
    retireNode: (other) => node.retire(other),
    isCurrent: () => feed.waitUntilFresh(),
    publishChanges,
    // Queries the database first: an outage is not a bug of the thread.
    verifyLedger: () =>
      db.all({ sql: 'select 1', parameters: [] }).then(() => verifyInThread({ clusterUrl: url })),
    monitorLedger: (everyMs, monitorListener) =>
      monitorInThread({ clusterUrl: url }, everyMs, ledgerAlerts.wrap(monitorListener), isLeader),
    async close() {
      await Promise.all([leader.close(), feed.close(), rates.close()])
      upstreams.traffic?.close()
      await engine.close(() => ledger.close())
      await node.leave()
      await Promise.all([local.close(), db.close()])
    },
  }
}
