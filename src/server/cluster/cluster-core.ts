/**
 * The heart of a node of a cluster: the same as on one node alone (core.ts), over PostgreSQL. What is written on this
 * node's own disk is little, and is gone through at the start: settlements that the database has not got, and how far
 * the streams of an earlier process had come.
 */
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { loadDirectory } from '../../accounts/directory.ts'
import { loadCatalog } from '../../catalog/catalog.ts'
import type { Config } from '../../config.ts'
import { openLocalJournal, type LocalJournal } from '../../db/sqlite/local-journal.ts'
import { ChangeFeed } from '../../db/postgres/change-feed.ts'
import { openPostgresDb, type PostgresDb } from '../../db/postgres/postgres-db.ts'
import { migratePostgres } from '../../db/postgres/migrate.ts'
import { joinCluster } from '../../db/postgres/nodes.ts'
import { openSharedDataKey } from '../../db/settings.ts'
import { checkNotMoved, MovedAway } from '../../db/transfer/move-marker.ts'
import { errorWords } from '../../lib/error-message.ts'
import { newId } from '../../lib/ids.ts'
import { sealerOf } from '../../lib/encryption.ts'
import { steadyClock, wallClock, type Core, type CoreListener } from '../core.ts'
import { NodeHealth } from '../upstreams/upstream-health.ts'
import { takeIn } from '../copies.ts'
import { SpendNotices } from '../ledger/spend-notifications.ts'
import { version } from '../version.ts'
import { AloneRates, type NodeRates } from '../../limits/node-rates.ts'
import { RedisRates } from '../../limits/redis-rates.ts'
import { Jobs } from './jobs.ts'
import { endLeftOpen, freeIn } from './recover-open-holds.ts'
import { Node } from './node.ts'
import { NodeJournal } from './node-journal.ts'
import { NodeLine } from './node-line.ts'
import { SharedCircuits } from './shared-circuits.ts'
import { SharedAuthority } from './shared-authority.ts'
import { SharedCredits } from './shared-credits.ts'
import { SharedDistrust } from './shared-distrust.ts'
import { SharedLedger } from './shared-ledger.ts'
import { SharedTraffic } from './shared-traffic.ts'
import { verifyClusterInThread, watchClusterInThread } from './verify-thread.ts'

const rejoinPauseMs = 500

type ClusterConfig = Omit<Config, 'databaseUrl'> & { readonly databaseUrl: string }

/** This node's name for good: made at its first start, kept in its data directory. */
async function nodeIdOf(local: LocalJournal): Promise<string> {
  const known = local.content.facts.get('node')
  if (known !== undefined) return known
  const id = newId('node')
  await local.write(['fact', 'node', id])
  return id
}

interface Opened {
  readonly local: LocalJournal
  readonly db: PostgresDb
  readonly id: string
  readonly join: () => Promise<number>
}

async function openNode({ databaseUrl, dataDir }: ClusterConfig): Promise<Opened> {
  await migratePostgres(databaseUrl)
  const local = await openLocalJournal(dataDir)
  const id = await nodeIdOf(local)
  const db = openPostgresDb(databaseUrl, `sluice ${id}`)
  await checkNotMoved(db)
  return { local, db, id, join: () => joinCluster(db, { id, name: hostname(), version }) }
}

/** Joins again after a retirement, however long it takes; asked for meanwhile it is the same. */
function rejoining(parts: {
  readonly join: () => Promise<number>
  readonly node: () => Node
  readonly told: (why: string) => void
  /** Another process has this node's name: one of the two has to end. */
  readonly doubled: (where: string) => void
  readonly movedAway: (why: string) => void
}): (why: string) => void {
  let isUnderWay = false
  const again = async (why: string): Promise<void> => {
    let isRetired = false
    for (;;) {
      try {
        if (!isRetired) {
          const where = await parts.node().runsElsewhere()
          if (where !== null) return parts.doubled(where)
          parts.told(why)
          isRetired = true
        }
        await parts.node().goOnIn(await parts.join())
        break
      } catch (error) {
        if (error instanceof MovedAway) return parts.movedAway(error.message)
        await delay(rejoinPauseMs)
      }
    }
    isUnderWay = false
  }
  return (why) => {
    if (isUnderWay) return
    isUnderWay = true
    void again(why)
  }
}

interface Running {
  readonly ledger: SharedLedger
  readonly journal: NodeJournal
  readonly node: Node
  readonly rates: NodeRates
  readonly now: () => number
}

/** The ledger of this node in a new epoch, and its place in the cluster. */
async function joinWith(
  { local, db, id, join }: Opened,
  config: ClusterConfig,
  listener: CoreListener,
): Promise<Running> {
  const now = wallClock()
  const journal = new NodeJournal(local)
  const fenced = rejoining({
    join,
    node: () => node,
    told: (why) => listener.noted(why, { node: id }),
    doubled: (where) =>
      listener.failed(
        `another process runs as ${id}, on ${where}. Each node needs a DATA_DIR of its own, also no copy of another's`,
      ),
    movedAway: (why) => listener.failed(why),
  })
  const epoch = await join()
  const ledger: SharedLedger = new SharedLedger({
    url: config.databaseUrl,
    node: id,
    epoch,
    now,
    keep: (work) => journal.keep(work, ledger.state.holds.get(work.ask.id)),
    forget: (ids) => journal.forget(ids),
    listener: {
      admitting: (isOpen, why) => listener.admitting(isOpen, why),
      fenced,
      broken: (error) => listener.failed(errorWords(error)),
    },
  })
  const node: Node = new Node({ db, id, ledger, now, fenced, freed: (hold) => freeIn(rates, hold) }, epoch)
  const rates = ratesOf(config, node, listener)
  await node.look()
  return { ledger, journal, node, rates, now }
}

/** Counted together with the other nodes where there is a Redis, else by the node's share. */
function ratesOf({ redisUrl, slotLeaseMs }: ClusterConfig, node: Node, listener: CoreListener): NodeRates {
  const steady = steadyClock()
  const alone = new AloneRates(() => node.place, steady)
  if (redisUrl === null) return alone
  return new RedisRates({
    url: redisUrl,
    leaseMs: slotLeaseMs,
    alone,
    steady,
    away: (why) => listener.noted('Redis is away: this node admits its share', { why: `REDIS_URL: ${why}` }),
    back: () => listener.noted('Redis is back: rates are counted together again', {}),
  })
}

function gaugesOf(node: Node, rates: NodeRates, leads: boolean): ReturnType<Core['gauges']> {
  return [
    { name: 'sluice_nodes', help: 'Nodes of this cluster that are alive', value: node.place.nodes },
    {
      name: 'sluice_rates_shared',
      help: 'Rates are counted over all nodes; 0: each node admits its share of every limit',
      value: rates.isShared ? 1 : 0,
    },
    {
      name: 'sluice_leads',
      help: 'This node does what one does for all: jobs, checks, the watch over the ledger',
      value: leads ? 1 : 0,
    },
  ]
}

/** What nodes say to each other that may be lost. */
function wordsOver(say: (text: string) => void) {
  const circuits = new SharedCircuits(say)
  const distrust = new SharedDistrust(say)
  const traffic = new SharedTraffic(say)
  return {
    circuits,
    distrust,
    hear(text: string) {
      for (const listener of [circuits, distrust, traffic]) {
        try {
          listener.hear(text)
        } catch {
          // Whoever may connect to the database may say anything, and another release says it otherwise.
        }
      }
    },
    follow(health: NodeHealth) {
      circuits.follow(health.board)
      traffic.follow(health)
    },
    close: () => traffic.close(),
  }
}

/** Opens a node; the caller holds the lock of its data directory. Ends the holds that it had left open. */
export async function openClusterCore(config: ClusterConfig, listener: CoreListener): Promise<Core> {
  const { databaseUrl: url } = config
  const opened = await openNode(config)
  const { local, db, id } = opened
  const dataKey = await openSharedDataKey(db, config.encryptionKey)
  const sealer = sealerOf(dataKey)
  const running = await joinWith(opened, config, listener)
  const { ledger, node, rates, now } = running
  const feed: ChangeFeed = new ChangeFeed(
    { url, name: `sluice ${id}` },
    {
      async changed(changes) {
        await refresh(changes)
        await listener.changed(changes)
      },
      heard: (text) => words.hear(text),
      connected: () => words.circuits.tellAll(),
      lost: () => ledger.lookAgain(),
    },
  )
  const words = wordsOver((text) => feed.say(text))
  await feed.start()
  const [directory, catalog] = await Promise.all([loadDirectory(db), loadCatalog(db, sealer)])
  const refresh: Core['refresh'] = (changes) => takeIn({ db, sealer, directory, catalog }, changes)
  const spending = new SpendNotices({ state: ledger.state, directory, db })
  const authority = new SharedAuthority({ ...running, directory, catalog, spending, db, feed })
  const health = new NodeHealth(catalog, Date.now)
  words.follow(health)
  const expired = await endLeftOpen({ ...opened, ...running, catalog })
  const jobs = new Jobs({ url, db, id, node, requestsKeptMs: config.requestsKeptMs, listener })
  return {
    store: { db },
    directory,
    catalog,
    sealer,
    dataKey,
    state: ledger.state,
    commits: ledger,
    authority,
    credits: new SharedCredits(ledger, spending, now),
    health,
    expired,
    accessForWorker: () => ({ db: { url, name: `sluice ${id} worker` }, ports: [] }),
    gauges: () => gaugesOf(node, rates, jobs.isOurs),
    leads: () => jobs.isOurs,
    nodes: () => node.all(),
    retireNode: (other) => node.retire(other),
    record: (row) => ledger.add({ kind: 'row', row }),
    lineTo: (port, duties) => new NodeLine(port, authority, duties),
    isCurrent: () => feed.fresh(),
    refresh,
    // Asked first: a database that is away is not a bug of the thread.
    verify: () => db.all({ sql: 'select 1', parameters: [] }).then(() => verifyClusterInThread(url)),
    watch: (everyMs, watcher) =>
      watchClusterInThread(url, everyMs, () => jobs.isOurs, words.distrust.over(watcher)),
    async close() {
      await Promise.all([jobs.close(), feed.close(), rates.close(), spending.close()])
      words.close()
      health.close()
      await ledger.close()
      await node.leave()
      await Promise.all([local.close(), db.close()])
    },
  }
}
