/**
 * A worker: the port, the doors, the relay. It keeps nothing that matters: whatever it knows it can load again, and
 * the authority ends its requests if it is gone.
 */
import { createServer, type Server } from 'node:http'
import type { Server as Listener } from 'node:net'
import { workerData } from 'node:worker_threads'
import { loadDirectory } from '../accounts/directory.ts'
import { loadCatalog } from '../catalog/catalog.ts'
import type { Config } from '../config.ts'
import { openAccess } from '../db/open-db.ts'
import type { Db } from '../db/db.ts'
import type { Refusal } from '../errors.ts'
// With the rest, and not when somebody first looks at a page: it takes half a second, in which no stream would go on.
import { administration } from '../http/administration.ts'
import { consoleListener } from '../http/static-files.ts'
import { Doors, type RefusedCall } from '../http/doors.ts'
import { FastLane } from '../http/server/fast-path.ts'
import type {
  CallHealth,
  CreditReceipt,
  House,
  LedgerVerdict,
  VoucherReceipt,
  Wallet,
  NodeRecord,
} from '../http/house.ts'
import { backupsBy } from '../db/backups.ts'
import { guardBy } from '../http/guard.ts'
import { answerMalformed } from '../http/server/malformed-request.ts'
import { parseCidrs } from '../lib/address-guard.ts'
import { briefly } from '../lib/briefly.ts'
import { closeWhenQuiet } from '../lib/close-when-quiet.ts'
import { collectWhenIdle } from '../lib/idle-garbage-collection.ts'
import { defaultBounds, HttpClient } from '../lib/http-client/http-client.ts'
import { openLog, type Log } from '../lib/log.ts'
import { decimalOf } from '../lib/money.ts'
import { sealerOf, type Sealer } from '../lib/encryption.ts'
import { Slots } from '../lib/slots.ts'
import type { RequestOutcome } from '../relay/ledger-client.ts'
import type { RelayDeps, RequestLine, Running } from '../relay/relay-request.ts'
import { KeptAnswers } from '../usage/stored-responses.ts'
import type { NodeState, WorkerBirth } from './messages.ts'
import { fetchModels } from './fetch-models.ts'
import { listenerOf } from './tls-listener.ts'
import { tryUpstream } from './try-upstream.ts'
import { version } from './version.ts'
import { Copies } from './copies.ts'
import { WorkerHealth } from './worker-health.ts'
import { WorkerMemory } from './workers/worker-quirks.ts'
import { WorkerMetrics } from './workers/worker-metrics.ts'
import { WorkerPort } from './worker-port.ts'

/** Longer than what proxies in front keep a connection idle, so that they close first. */
const keepAliveMs = 75_000
/** What may wait in a socket for a caller who does not read; the outlet holds the rest, and then the upstream waits. */
const waitingBytes = 16_384
/** Keys that nobody knows cost the main thread a question this often. */
const currentMs = 200
const drain = { tokens: 8192, ms: 30_000 }

interface Means {
  readonly config: Config
  readonly db: Db
  readonly sealer: Sealer
  readonly copies: Copies
  readonly port: WorkerPort
  readonly health: WorkerHealth
  readonly memory: WorkerMemory
  readonly metrics: WorkerMetrics
  readonly log: Log
}

function relayOf({ config, db, sealer, port, health, memory, metrics, log }: Means): RelayDeps {
  const allow = parseCidrs(config.upstreamAllow.join(','))
  return {
    bookkeeper: port,
    keptAnswers: new KeptAnswers(db, sealer),
    client: new HttpClient({ ...defaultBounds, allow }),
    memory,
    health,
    maxAnswerBytes: config.answerLimitBytes,
    keepAliveMs: config.keepAliveMs,
    slowClientMs: config.slowClientMs,
    drain,
    now: Date.now,
    log(line) {
      metrics.count(line)
      log.line(logLine(line), 'request')
    },
    onReplay({ id, caller, model }, first) {
      const { accountId: account, keyId: key } = caller
      log.line({ request: id, account, key, model: model.id, replays: first }, 'replayed')
    },
  }
}

function houseOf(means: Means, relay: RelayDeps, isReady: () => boolean): House {
  const { config, db, sealer, copies, port } = means
  const { directory, catalog } = copies
  return {
    config,
    db,
    directory,
    catalog,
    sealer,
    version,
    isReady,
    // What the authority answers to each order is written in orders.ts.
    credit: async (credit) => (await port.order({ do: 'credit', credit })) as CreditReceipt,
    enterOrder: async (id) => (await port.order({ do: 'enter-order', id })) as CreditReceipt,
    redeem: async (account, code, by) =>
      (await port.order({ do: 'redeem', account, code, by })) as VoucherReceipt,
    wallet: async (account, key) => (await port.order({ do: 'wallet', account, key })) as Wallet,
    announce: async (changes) => void (await port.order({ do: 'announce', changes })),
    isCurrent:
      config.databaseUrl === null
        ? () => Promise.resolve(true)
        : briefly(currentMs, async () => (await port.order({ do: 'is-current' })) as boolean),
    verify: async () => (await port.order({ do: 'verify' })) as LedgerVerdict,
    backups: backupsBy((ask) => port.order({ do: 'backup', ask })),
    guard: guardBy((ask) => port.order({ do: 'guard', ask })),
    nodes: async () => (await port.order({ do: 'nodes' })) as NodeRecord[],
    retireNode: async (node) => (await port.order({ do: 'retire', node })) as number,
    metrics: async () => (await port.order({ do: 'metrics' })) as string,
    tryUpstream: (id, model) => tryUpstream(catalog, relay, id, model),
    health: async (circuits) => (await port.order({ do: 'health', circuits })) as CallHealth[],
    fetchModels: (id) => fetchModels(catalog, relay, id),
  }
}

async function start(birth: WorkerBirth): Promise<void> {
  const { config } = birth
  const db = await openAccess(birth.db)
  const sealer = sealerOf(birth.dataKey)
  const [directory, catalog] = await Promise.all([loadDirectory(db), loadCatalog(db, sealer)])
  const copies = new Copies({ db, sealer, directory, catalog })
  const log = openLog(config.logLevel, { worker: birth.number })
  const metrics = new WorkerMetrics()
  const port = new WorkerPort(birth.authority)
  const running = new Slots<Running>()
  let state: NodeState = { isReady: false, isAdmitting: true, isDraining: false }
  const health = new WorkerHealth(port)
  const memory = new WorkerMemory(port)
  const means: Means = { config, db, sealer, copies, port, health, memory, metrics, log }
  const relay = relayOf(means)
  const house = houseOf(means, relay, () => state.isReady && state.isAdmitting)
  const onBug = (error: unknown, request: string): void => log.error({ err: error, request }, 'bug')
  let consoleFiles: ReturnType<typeof consoleListener> | undefined
  const doors = new Doors({
    house,
    relay,
    catalog,
    running,
    console: () => (consoleFiles ??= consoleListener()),
    other: () => administration(house, onBug),
    onBug,
    onRefused(refusal, call) {
      metrics.countRefusal(refusal.code)
      port.refused(call.id, call.caller.keyId, refusedOutcome(refusal, call))
      log.line(refusedLine(refusal, call), 'refused')
    },
    isDraining: () => state.isDraining,
  })
  const options = {
    keepAliveTimeout: keepAliveMs,
    requestTimeout: 0,
    noDelay: true,
    highWaterMark: waitingBytes,
  }
  const server = createServer(options, (incoming, outgoing) => void doors.handle(incoming, outgoing))
  const listener = listenerOf(server, { config, highWaterMark: waitingBytes }, (error) =>
    log.error({ err: error }, 'the new certificate cannot be used; the old one stays'),
  )
  server.on('clientError', answerMalformed)
  const lane = new FastLane(server, (arrival) => void doors.receive(arrival), {
    idleMs: keepAliveMs,
    slowMs: config.slowClientMs,
  })
  port.serve({
    async changed(changes) {
      await copies.refresh(changes)
      doors.callers.forget()
    },
    count: () => metrics.registry.getMetricsAsJSON(),
    state: (next) => (state = next),
    circuits: (news) => health.hear(news),
    learned: (upstreams) => memory.hear(upstreams),
    drain: () => void drained({ listener, server, lane }, running).then(() => port.tell({ kind: 'idle' })),
    end: () => {
      for (const request of running) request.end({ kind: 'shutdown' })
    },
  })
  await listening(listener, config)
  port.tell({ kind: 'ready' })
  collectWhenIdle()
}

function listening(listener: Listener, { host, port, workers }: WorkerBirth['config']): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  listener.once('error', reject)
  listener.listen({ host, port, reusePort: workers > 1, backlog: 4096 }, resolve)
  return promise
}

/** Resolves when nothing listens and nothing runs. */
function drained(
  { listener, server, lane }: { listener: Listener; server: Server; lane: FastLane },
  running: Slots<Running>,
): Promise<void> {
  const closeIdle = (): void => {
    server.closeIdleConnections()
    lane.closeIdle()
  }
  const closed = closeWhenQuiet(listener)
  const idle = setInterval(() => {
    if (running.size === 0) closeIdle()
  }, 50)
  closeIdle()
  return closed.finally(() => clearInterval(idle))
}

/** One line per request: who, what, how it ended, what it cost; no prompt, no answer, no secret. */
function logLine(line: RequestLine): Record<string, unknown> {
  const { outcome, usage } = line
  return {
    request: line.id,
    account: line.account,
    key: line.key,
    model: outcome.model,
    upstream: outcome.upstream,
    status: outcome.httpStatus,
    outcome: outcome.outcome,
    stream: outcome.stream,
    finish: outcome.finish,
    code: outcome.errorCode,
    fault: line.fault,
    input: usage?.input,
    output: usage?.output,
    clamped: outcome.isClamped || undefined,
    cost: decimalOf(line.cost),
    first_token_ms: outcome.firstTokenMs,
    duration_ms: outcome.durationMs,
  }
}

function refusedLine(
  { code, status }: Refusal,
  { id, caller, progress }: RefusedCall,
): Record<string, unknown> {
  return { request: id, account: caller.accountId, key: caller.keyId, model: progress.model, status, code }
}

/** The row of a request that was refused before anything was set aside. */
function refusedOutcome({ code, status }: Refusal, { progress }: RefusedCall): RequestOutcome {
  return {
    httpStatus: status,
    outcome: 'refused',
    upstream: null,
    finish: null,
    errorCode: code,
    firstTokenMs: null,
    durationMs: 0,
    attempts: '[]',
    upstreamCost: null,
    isClamped: false,
    stream: progress.stream,
    model: progress.model.slice(0, 256),
  }
}

await start(workerData as WorkerBirth)
