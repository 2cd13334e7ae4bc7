/**
 * A worker thread: the listener, the router, the relay. It has no state of its own: it can reload everything, and if it
 * exits, the main thread settles its requests.
 */
import { once } from 'node:events'
import { parentPort } from 'node:worker_threads'
import { loadDirectory } from '../../accounts/directory.ts'
import { loadCatalog } from '../../catalog/catalog.ts'
import type { Config } from '../../config.ts'
import { reloadDataKeys } from '../../db/data-keys.ts'
import { openDb } from '../../db/open-db.ts'
import type { WorkerDb } from '../../db/db.ts'
// Loaded at startup, not with the first page: it takes half a second, in which no stream would continue.
import { createHonoListener } from '../../http/server/hono-listener.ts'
import { consoleListener } from '../../http/static-files.ts'
import { Router } from '../../http/router.ts'
import type { AppContext } from '../../http/app-context.ts'
import type { CallHealth } from '../../health/call-health.ts'
import type { CreditReceipt } from '../../ledger/credits/credit-request.ts'
import type { LedgerReport } from '../../ledger/report.ts'
import type { VoucherReceipt } from '../../ledger/credits/vouchers.ts'
import type { Wallet } from '../../ledger/wallet.ts'
import type { NodeRecord } from '../../db/postgres/nodes.ts'
import { remoteBackupService } from '../../db/backups.ts'
import { remoteAuthThrottle } from '../../http/auth-throttle.ts'
import { parseCidrs } from '../../lib/address-guard.ts'
import { memoizeFor } from '../../lib/memoize-for.ts'
import { collectGarbageWhenIdle } from '../../lib/idle-garbage-collection.ts'
import { defaultClientBounds, HttpClient } from '../../lib/http-client/http-client.ts'
import { createLog, type Log } from '../../lib/log.ts'
import { createSealer, type Sealer } from '../../lib/encryption.ts'
import { SlotMap } from '../../lib/slot-map.ts'
import type { RelayDeps, ActiveRequest } from '../../relay/relay-request.ts'
import { StoredResponses } from '../../usage/stored-responses.ts'
import type { NodeState, WorkerInit } from './protocol.ts'
import { fetchModels } from '../upstreams/fetch-models.ts'
import { testUpstream } from '../upstreams/test-upstream.ts'
import { version } from '../version.ts'
import { ConfigCache } from './config-cache.ts'
import { withReportSlots } from './report-slots.ts'
import { RejectionReports } from './rejection-reports.ts'
import { requestLogFields } from './request-outcomes.ts'
import { createWorkerListener } from './http-listener.ts'
import { WorkerHealth } from './worker-health.ts'
import { WorkerQuirks } from './worker-quirks.ts'
import { AuthenticationFailureLog } from '../../http/authentication-failure-log.ts'
import { registerBodyMemory } from '../metrics/body-memory.ts'
import { measureQueries } from '../metrics/query-latency.ts'
import { WorkerMetrics } from '../metrics/worker-metrics.ts'
import { MainChannel } from './main-channel.ts'

/** Requests with unknown keys ask the main thread at most this often. */
const freshnessCacheMs = 200
const drain = { tokens: 8192, ms: 30_000 }

interface WorkerContext extends WorkerDb {
  readonly config: Config
  readonly sealer: Sealer
  readonly configCache: ConfigCache
  readonly channel: MainChannel
  readonly health: WorkerHealth
  readonly quirks: WorkerQuirks
  readonly metrics: WorkerMetrics
  readonly log: Log
}

function createRelayDeps({
  config,
  lookups,
  sealer,
  channel,
  health,
  quirks,
  metrics,
  log,
}: WorkerContext): RelayDeps {
  const allow = parseCidrs(config.upstreamAllow.join(','))
  return {
    ledger: channel,
    storedResponses: new StoredResponses(lookups, sealer),
    client: new HttpClient({ ...defaultClientBounds, allow }),
    quirks,
    health,
    maxResponseBytes: config.answerLimitBytes,
    keepAliveMs: config.keepAliveMs,
    slowClientMs: config.slowClientMs,
    drain,
    now: Date.now,
    logRequest(line) {
      metrics.count(line)
      log.line(requestLogFields(line), 'request')
    },
    onReplay({ id, caller, model }, first) {
      const { accountId: account, keyId: key } = caller
      log.line({ request: id, account, key, model: model.id, replays: first }, 'response replayed')
    },
  }
}

function createAppContext(context: WorkerContext, relay: RelayDeps, nodeState: () => NodeState): AppContext {
  const { config, db, sealer, configCache, channel } = context
  const { directory, catalog } = configCache
  return {
    config,
    db: config.databaseUrl === null ? db : withReportSlots(db, channel),
    directory,
    catalog,
    sealer,
    version,
    isReady: () => nodeState().isReady && nodeState().outage === null,
    admissionOutage: () => nodeState().outage,
    // control-handler.ts holds the type of each response.
    credit: async (credit) => (await channel.sendControlRequest({ kind: 'credit', credit })) as CreditReceipt,
    applyCreditOrder: async (id) =>
      (await channel.sendControlRequest({ kind: 'apply-credit-order', id })) as CreditReceipt,
    redeemVoucher: async (account, code, by) =>
      (await channel.sendControlRequest({ kind: 'redeem', account, code, by })) as VoucherReceipt,
    wallet: async (account, key) =>
      (await channel.sendControlRequest({ kind: 'wallet', account, key })) as Wallet,
    publishChanges: async (changes) =>
      void (await channel.sendControlRequest({ kind: 'publish-changes', changes })),
    isCurrent:
      config.databaseUrl === null
        ? () => Promise.resolve(true)
        : memoizeFor(
            freshnessCacheMs,
            async () => (await channel.sendControlRequest({ kind: 'is-current' })) as boolean,
          ),
    verify: async () => (await channel.sendControlRequest({ kind: 'verify' })) as LedgerReport,
    backups: remoteBackupService((request) => channel.sendControlRequest({ kind: 'backup', request })),
    authThrottle: remoteAuthThrottle((request) =>
      channel.sendControlRequest({ kind: 'auth-throttle', request }),
    ),
    nodes: async () => (await channel.sendControlRequest({ kind: 'nodes' })) as NodeRecord[],
    retireNode: async (node) => (await channel.sendControlRequest({ kind: 'retire-node', node })) as number,
    metrics: async () => (await channel.sendControlRequest({ kind: 'metrics' })) as string,
    testUpstream: (id, model) => testUpstream(catalog, relay, id, model),
    callHealth: async (circuits) =>
      (await channel.sendControlRequest({ kind: 'health', circuits })) as CallHealth[],
    fetchModels: (id) => fetchModels(catalog, relay, id),
  }
}

/** Failures that handlers report for the log. */
function createFailureLogs(log: Log) {
  const signIns = new AuthenticationFailureLog((failure) => log.warn(failure, 'sign-in failed'))
  return {
    onInternalError: (error: unknown, request: string): void =>
      log.error({ err: error, request }, 'internal error'),
    onSignInFailed: (address: string, method: string): void => signIns.record(address, method),
  }
}

async function start(init: WorkerInit): Promise<void> {
  const { config } = init
  const opened = await openDb(init.db)
  const sealer = createSealer(init.dataKeys.bytes, init.dataKeys.isNewestReadOnly)
  const [directory, catalog] = await Promise.all([loadDirectory(opened.db), loadCatalog(opened.db, sealer)])
  const metrics = new WorkerMetrics(init.number, (id) => catalog.upstream(id)?.name)
  const { db, lookups } = measureQueries(opened, metrics.registry)
  const reloadKeys = () => reloadDataKeys(db, config)
  const configCache = new ConfigCache({ db, sealer, reloadKeys, directory, catalog })
  const node = init.node === null ? {} : { node: init.node }
  const log = createLog(config.logLevel, { ...node, worker: init.number })
  const channel = new MainChannel(init.mainPort)
  const running = new SlotMap<ActiveRequest>()
  let state: NodeState = { isReady: false, outage: null, isDraining: false }
  const health = new WorkerHealth(channel)
  const quirks = new WorkerQuirks(channel)
  const context = { config, db, lookups, sealer, configCache, channel, health, quirks, metrics, log }
  const relay = createRelayDeps(context)
  const ctx = createAppContext(context, relay, () => state)
  const failureLogs = createFailureLogs(log)
  const rejections = new RejectionReports((rejection) => channel.reportRejection(rejection))
  let consoleFiles: ReturnType<typeof consoleListener> | undefined
  const unauthenticated = new AuthenticationFailureLog((failure) =>
    log.warn(failure, 'authentication failed'),
  )
  const router = new Router({
    ctx,
    relay,
    catalog,
    running,
    consoleListener: () => (consoleFiles ??= consoleListener()),
    honoListener: () => createHonoListener(ctx, failureLogs),
    onInternalError: failureLogs.onInternalError,
    onRejected(error, call) {
      metrics.countRejected(error.code)
      rejections.record(error, call)
    },
    onUnauthenticated(address) {
      metrics.countAuthenticationFailure()
      unauthenticated.record(address)
    },
    isDraining: () => state.isDraining,
  })
  registerBodyMemory(metrics.registry, router.bodies)
  const listener = createWorkerListener(router, config, log)
  channel.listen({
    async onChanges(changes) {
      await configCache.applyChanges(changes)
      router.apiKeys.clearCache()
      metrics.onConfigChange()
    },
    collectMetrics: () => metrics.registry.getMetricsAsJSON(),
    onState: (next) => (state = next),
    onCircuitChanges: (changes) => health.onCircuitChanges(changes),
    onRejectedFields: (records) => quirks.onRejectedFields(records),
    onReloadCertificate: listener.reloadCertificate,
    onListen: () => listener.open().then(() => channel.send({ kind: 'listening' })),
    async onDrain() {
      await listener.drain(() => running.size === 0)
      rejections.flush()
      channel.flush()
      channel.send({ kind: 'idle' })
    },
    onAbort: () => {
      for (const request of running) request.end({ kind: 'shutdown' })
    },
  })
  channel.send({ kind: 'ready' })
  collectGarbageWhenIdle()
}

if (parentPort === null) throw new Error('A worker is a thread.')
// The thread loads its modules while the main thread opens the core, whose first message it waits for.
const [init] = (await once(parentPort, 'message')) as [WorkerInit]
await start(init)
