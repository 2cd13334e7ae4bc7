/**
 * A worker: the listener, the router, the relay. It has no state of its own: it can reload everything, and if its thread
 * exits, the main thread settles its requests.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../../config.ts'
import { openDb } from '../../db/open-db.ts'
import type { WorkerDb } from '../../db/db.ts'
import { hasOlderNodes } from '../../db/postgres/nodes.ts'
// Loaded at startup, not with the first page: it takes half a second, in which no stream would continue.
import { createHonoListener } from '../../http/server/hono-listener.ts'
import { consoleListener } from '../../http/static-files.ts'
import { Router } from '../../http/router.ts'
import type { AppContext } from '../../http/app-context.ts'
import { parseCidrs } from '../../lib/address-guard.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { memoizeFor } from '../../lib/memoize-for.ts'
import { defaultClientBounds, HttpClient } from '../../lib/http-client/http-client.ts'
import { createLog, type Log } from '../../lib/log.ts'
import { createSealer, type Sealer } from '../../lib/encryption.ts'
import { SlotMap } from '../../lib/slot-map.ts'
import type { RelayDeps } from '../../relay/request-context.ts'
import { ResponseItems } from '../../usage/response-items.ts'
import { ResponsePins } from '../../usage/response-pins.ts'
import { StoredResponses } from '../../usage/stored-responses.ts'
import { apiErrors, Channel } from '../../rpc/channel.ts'
import type { NodeState, WorkerInit, WorkerService, WorkerServices } from './protocol.ts'
import { fetchModels, testUpstream } from '../../relay/upstreams/operator-calls.ts'
import { release, version } from '../../lib/version.ts'
import { openConfigCache, type ConfigCache } from '../../engine/config-cache.ts'
import { withReportSlots } from './report-slots.ts'
import { RejectionReports } from '../../engine/rejection-reports.ts'
import { requestLogFields } from './request-outcomes.ts'
import { createWorkerListener } from './http-listener.ts'
import { createThreadCheck } from './thread-checks.ts'
import { WorkerHealth } from './worker-health.ts'
import { RouteNotifications } from './route-notifications.ts'
import { RejectedFields } from './rejected-fields.ts'
import { AuthenticationFailureLog } from '../../http/authentication-failure-log.ts'
import { measureQueries } from '../metrics/query-latency.ts'
import { registerBodyMemory, WorkerMetrics } from '../metrics/worker-metrics.ts'
import { RemoteLedger, type MainChannel } from './remote-ledger.ts'

/** Requests with unknown keys ask the main thread at most this often. */
const freshnessCacheMs = 200
const drain = { tokens: 8192, ms: 30_000 }
const oneRow = { sql: 'select 1 as one', parameters: [] }
/** How often the end of a drain looks whether all requests are settled. */
const settlementPollMs = 10

interface WorkerContext extends WorkerDb {
  readonly config: Config
  readonly currency: string
  readonly sealer: Sealer
  readonly configCache: ConfigCache
  readonly channel: MainChannel
  readonly ledger: RemoteLedger
  readonly controlMethods: readonly string[]
  readonly health: WorkerHealth
  readonly rejectedFields: RejectedFields
  readonly metrics: WorkerMetrics
  readonly log: Log
}

function createRelayDeps(context: WorkerContext): RelayDeps {
  const { config, db, lookups, sealer, configCache, channel, ledger, health, rejectedFields, metrics, log } =
    context
  const upstreamName = (id: string): string | undefined => configCache.catalog.upstream(id)?.name
  const canNotify = async (): Promise<boolean> =>
    config.databaseUrl === null || !(await hasOlderNodes(db, release))
  const notifications = new RouteNotifications({ db, log, upstreamName, canNotify, now: Date.now })
  const allow = parseCidrs(config.upstreamAllow.join(','))
  return {
    ledger,
    storedResponses: new StoredResponses(lookups, sealer),
    responsePins: pinsWithLog(new ResponsePins(context), log),
    responseItems: itemsWithLog(new ResponseItems(db, sealer, config.responseItemsTtlMs), log),
    sealer,
    client: new HttpClient({ ...defaultClientBounds, allow }),
    quirks: {
      rejectedFields: (upstream, model, now) => rejectedFields.fields(upstream, model, now),
      addRejectedField(record) {
        rejectedFields.add(record)
        // The main thread sends it to all workers, so that one failed call suffices for the whole node.
        channel.send('relay', 'addRejectedField', record)
      },
      observeMaximum(seen) {
        channel.send('relay', 'observeMaximum', seen)
      },
    },
    health,
    maxResponseBytes: config.answerLimitBytes,
    keepAliveMs: config.keepAliveMs,
    slowClientMs: config.slowClientMs,
    drain,
    activeRequests: new SlotMap(),
    now: Date.now,
    logRequest(line) {
      metrics.count(line)
      log.line(requestLogFields(line), 'request')
      if (line.mismatch) void notifications.reportMismatch(line.mismatch)
      if (line.unknownFinish) void notifications.reportUnknownFinish(line.unknownFinish)
    },
    onReplay({ id, caller, model }, first) {
      const { accountId: account, keyId: key } = caller
      log.line({ request: id, account, key, model: model.id, replays: first }, 'response replayed')
    },
  }
}

/** A response that has been paid for is delivered even if it cannot be found again. */
function pinsWithLog(pins: ResponsePins, log: Log): RelayDeps['responsePins'] {
  return {
    find: (account, response) => pins.find(account, response),
    remove: (pin) => pins.remove(pin),
    add: (pin) => pins.add(pin).catch((err: unknown) => log.error({ err }, 'stored response not recorded')),
  }
}

/** As of pins: without its items, only a later request that refers to them fails, with a message that says what to do. */
function itemsWithLog(items: ResponseItems, log: Log): RelayDeps['responseItems'] {
  return {
    isEnabled: items.isEnabled,
    find: (account, ids, options) => items.find(account, ids, options),
    add: (account, added, now) =>
      items
        .add(account, added, now)
        .catch((err: unknown) => log.error({ err }, 'items of a response not kept')),
  }
}

function createAppContext(context: WorkerContext, relay: RelayDeps, nodeState: () => NodeState): AppContext {
  const { config, currency, db, sealer, configCache, channel } = context
  const { directory, catalog, branding } = configCache
  const main = channel.proxyOf('control', context.controlMethods)
  return {
    ...main,
    config,
    currency,
    db: config.databaseUrl === null ? db : withReportSlots(db, channel.proxy('reportSlots')),
    directory,
    catalog,
    branding,
    sealer,
    version,
    isReady: () => nodeState().isReady && nodeState().outage === null,
    admissionOutage: () => nodeState().outage,
    isCurrent:
      config.databaseUrl === null
        ? () => Promise.resolve(true)
        : memoizeFor(freshnessCacheMs, () => main.isCurrent()),
    backups: channel.proxy('backups'),
    payments: channel.proxy('payments'),
    automaticRecharges: channel.proxy('automaticRecharges'),
    authThrottle: channel.proxy('authThrottle'),
    testUpstream: (id, model) => testUpstream(catalog, relay, id, model),
    fetchModels: (id) => fetchModels(catalog, relay, id),
  }
}

/** A worker that cannot apply what the main thread sends would serve with stale data: it ends, and is replaced. */
function rethrow(error: unknown): never {
  throw error
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

async function openContext(init: WorkerInit): Promise<WorkerContext> {
  const { config, currency } = init
  const opened = await openDb(init.db)
  const sealer = createSealer(init.dataKeys.bytes, init.dataKeys.isNewestReadOnly)
  const configCache = await openConfigCache(opened.db, sealer)
  const metrics = new WorkerMetrics(init, (id) => configCache.catalog.upstream(id)?.name)
  const { db, lookups } = measureQueries(opened, metrics.registry)
  const node = init.node === null ? {} : { node: init.node }
  const channel: MainChannel = new Channel(init.mainPort, apiErrors(rethrow))
  return {
    config,
    currency,
    db,
    lookups,
    sealer,
    configCache,
    metrics,
    channel,
    log: createLog(config.logLevel, { ...node, worker: init.number }),
    ledger: new RemoteLedger(channel),
    health: new WorkerHealth(channel),
    rejectedFields: new RejectedFields(),
    controlMethods: init.controlMethods,
  }
}

function checkThreads({ db, lookups }: WorkerContext, ctx: AppContext): () => Promise<boolean> {
  return createThreadCheck([() => ctx.respond(), () => db.first(oneRow), () => lookups.first(oneRow)])
}

/** Starts a worker; resolves when it can serve. */
export async function startWorker(init: WorkerInit): Promise<void> {
  const context = await openContext(init)
  const { config, configCache, channel, ledger, health, rejectedFields, metrics, log } = context
  let state: NodeState = { isReady: false, outage: null, isDraining: false }
  const relay = createRelayDeps(context)
  const ctx = createAppContext(context, relay, () => state)
  const failureLogs = createFailureLogs(log)
  const rejections = new RejectionReports((rejection) => channel.sendBatched('reject', rejection))
  let consoleFiles: ReturnType<typeof consoleListener> | undefined
  const unauthenticated = new AuthenticationFailureLog((failure) =>
    log.warn(failure, 'authentication failed'),
  )
  const router = new Router({
    ctx,
    relay,
    catalog: configCache.catalog,
    consoleListener: () => (consoleFiles ??= consoleListener()),
    honoListener: () =>
      createHonoListener(ctx, {
        ...failureLogs,
        bodies: router.bodies,
        onWebhookRejected: (method, reason) => metrics.countRejectedWebhook(method, reason),
      }),
    onInternalError: failureLogs.onInternalError,
    onRejected(error, context) {
      metrics.countRejected(error.code)
      rejections.record(error, context)
    },
    onUnauthenticated(address) {
      metrics.countAuthenticationFailure()
      unauthenticated.record(address)
    },
    isDraining: () => state.isDraining,
    threadsRespond: checkThreads(context, ctx),
  })
  registerBodyMemory(metrics.registry, router.bodies)
  const listener = createWorkerListener(router, config, log)
  const abortRequests = (): void => {
    for (const request of relay.activeRequests) request.end({ kind: 'shutdown' })
  }
  const worker: WorkerService = {
    async applyConfigDelta(delta) {
      await configCache.apply(delta)
      router.apiKeys.clearCache()
      metrics.onConfigChange()
    },
    collectMetrics: () => metrics.registry.getMetricsAsJSON(),
    setState: (next) => void (state = next),
    applyCircuitChanges: (changes) => health.onCircuitChanges(changes),
    addRejectedFields(records) {
      for (const record of records) rejectedFields.add(record)
    },
    reloadCertificate: listener.reloadCertificate,
    listen: () => listener.open().then(() => null, errorMessage),
    async drain() {
      await listener.drain(() => relay.activeRequests.size === 0)
      // Requests whose callers have left run without a connection. They, too, have the grace period, and are settled
      // before the store closes.
      while (relay.activeRequests.size > 0) await delay(settlementPollMs)
      rejections.flush()
      channel.flush()
    },
    abort: abortRequests,
  }
  channel.serve({ services: { worker } satisfies WorkerServices, batched: ledger.events })
  channel.send('relay', 'onReady')
}
