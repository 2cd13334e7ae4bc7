/**
 * `sluice serve`: takes the data directory, opens the core, starts the workers, and serves until a signal; then
 * drains. The order here is the order of the process's life.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { operatorLink } from '../http/console/access-links.ts'
import { linkTo } from '../http/public-urls.ts'
import { collectWhenIdle } from '../lib/idle-garbage-collection.ts'
import { openLog, type Log } from '../lib/log.ts'
import { decimalOf } from '../lib/money.ts'
import { hasOperator } from '../users/users.ts'
import type { Core } from './core.ts'
import { serveControl } from './control-socket.ts'
import { Crew } from './crew.ts'
import { openDemo } from './demo/demo.ts'
import { startJobs } from './jobs.ts'
import { takeLock } from './lock.ts'
import { administrationOver } from './open-house.ts'
import { KeyUse } from './workers/key-usage.ts'
import { openCore } from './ledger/open-core.ts'
import { Orders } from './orders.ts'
import { portProblem } from './connection-checks.ts'
import { tlsProblem } from './tls-listener.ts'
import { printWelcome } from './startup-banner.ts'
import { version } from './version.ts'
import { waitForDatabase } from './wait-for-database.ts'

/** Drift between journal, balances, entries and request rows is found within this time. */
const watchEveryMs = 60_000
/** A second signal within this time is the same one, sent to the whole process group. */
const sameSignalMs = 1000
/** How long answers wait for a store that takes no commits; streams are kept alive meanwhile. */
const storePatienceMs = 30_000
/** After the drain nobody waits for an answer: what cannot be closed within this time is left as a crash leaves it. */
const closeWithinMs = 15_000

type Close = () => unknown

/** Resolves when the relay has ended. */
export async function serve(config: Config): Promise<void> {
  const log = openLog(config.logLevel)
  const lock = takeLock(config.dataDir, { command: 'serve' })
  const signals = takeSignals()
  await checkPort(config)
  await waitForDatabase(config, log)
  let crew: Crew | null = null
  let patience: NodeJS.Timeout | undefined
  let isTrusted = true
  const core = await openCore(config, {
    durable: (commit) => crew?.durable(commit),
    admitting(isOpen, why) {
      if (isOpen) log.info('the store takes commits again')
      else log.error({ why }, 'the store takes no commits: admission is closed')
      clearInterval(patience)
      // What was decided is still written when the store comes back, so its answers wait for that a while.
      if (!isOpen) patience = setInterval(() => crew?.fail(), storePatienceMs)
      crew?.tell({ isAdmitting: isOpen && isTrusted })
    },
    failed: (why) => endAtOnce(log, why),
    changed: async (changes) => crew?.broadcast(changes),
    dropped: (requests) => log.info({ requests }, 'request rows older than REQUEST_RETENTION were deleted'),
    noted: (what, about) => log.warn(about, what),
  })
  tellBeginning(core, log)
  const orders = new Orders({
    core,
    config,
    broadcast: async (changes) => crew?.broadcast(changes),
    counts: async () => (await crew?.ask<object>((call) => ({ kind: 'count', call }))) ?? [],
  })
  const demo = await openDemo(config, core, orders)
  const keyUse = new KeyUse(core.store.db, log)
  // Only Linux spreads the connections of one port over several listeners.
  const workers = process.platform === 'linux' ? config.workers : 1
  const served = { ...config, workers, upstreamAllow: [...config.upstreamAllow, ...(demo?.allow ?? [])] }
  crew = new Crew({ core, config: served, log, carryOut: (order) => orders.carryOut(order), keyUse })
  await crew.start(workers)
  const onBug = (error: unknown, request: string): void => log.error({ err: error, request }, 'bug')
  const control = await serveControl(config.dataDir, administrationOver(served, core, orders, onBug))
  // Before anybody is told that it is ready: a signal from then on has to find somebody.
  const signal = signals()
  const setUpLink = await setUpLinkOf(config, core.store.db)
  crew.tell({ isReady: true })
  const endChores = orders.programmes.startChores(log)
  const endWatch = watchLedger(core, log, () => {
    isTrusted = false
    core.authority.distrust()
    crew.tell({ isAdmitting: false })
  })
  const endJobs = startJobs(config, core, orders, log)
  log.info({ version, host: config.host, port: config.port, workers, data: config.dataDir }, 'ready')
  printWelcome(config, demo, setUpLink)
  collectWhenIdle()
  await signal
  await drain(crew, config, log)
  await closeAll(log, {
    // One job waits for a backup that is under way, which ends here.
    jobs: () => Promise.all([endJobs(), orders.backups.close()]),
    'the watch over the ledger': endWatch,
    chores: endChores,
    'the use of keys': () => keyUse.close(),
    'the control socket': () => control.close(),
    'the demonstration': () => demo?.close(),
    'the ledger': () => core.close(),
  })
  lock.release()
  log.info('ended')
  process.exit(0)
}

function tellBeginning({ expired, health }: Core, log: Log): void {
  if (expired > 0) log.warn({ holds: expired }, 'requests that an earlier end had cut off were settled')
  health.logTo(log)
}

/** A link to become the first operator; `null` where there is one. */
async function setUpLinkOf(config: Config, db: Db): Promise<string | null> {
  if (await hasOperator(db)) return null
  const { token } = await operatorLink(db, null)
  return linkTo(config, 'set-up', token)
}

/** Has the ledger recomputed as it grows; when it does not add up, `onDrift` is called, once. */
function watchLedger(core: Core, log: Log, onDrift: () => void): () => Promise<void> {
  let isTold = false
  return core.watch(watchEveryMs, {
    verdict({ ok, drift, findings }) {
      if (ok || isTold) return
      isTold = true
      log.fatal({ drift: decimalOf(drift), findings }, 'the ledger does not add up: admission is closed')
      onDrift()
    },
    failed: (error) => log.error({ err: error }, 'the ledger could not be watched'),
  })
}

/** Workers share the port, so they would share it with another relay as well, and nobody would notice. */
async function checkPort(config: Config): Promise<void> {
  const { host, port } = config
  const problem = await portProblem(host, port)
  if (problem !== null)
    throw new Error(`${host}:${port} cannot be listened on (${problem}); set HOST or PORT.`)
  const unfit = tlsProblem(config)
  if (unfit !== null) throw new Error(`TLS_CERT_FILE and TLS_KEY_FILE cannot be used: ${unfit}`)
}

async function drain(crew: Crew, { drainDelayMs, drainGraceMs }: Config, log: Log): Promise<void> {
  log.info('draining')
  crew.tell({ isReady: false, isDraining: true })
  await delay(drainDelayMs)
  await crew.drain(drainGraceMs)
}

/** One after the other; tells what is not waited for when time is over. */
async function closeAll(log: Log, parts: Readonly<Record<string, Close>>): Promise<void> {
  const left = new Set(Object.keys(parts))
  const closing = async (): Promise<void> => {
    for (const [name, close] of Object.entries(parts)) {
      await close()
      left.delete(name)
    }
  }
  await Promise.race([closing(), delay(closeWithinMs)])
  if (left.size > 0)
    log.warn({ left: [...left] }, 'not everything could be closed in time: the next start does what is left')
}

/** Nothing in memory can be trusted to be on disk any more: the process ends, and its next start reads the disk. */
function endAtOnce(log: Log, why: string): void {
  log.fatal({ why }, 'the store has failed')
  process.exit(1)
}

/**
 * Before it serves there is nothing to drain: a signal ends the process at once. Left to the system it would be dropped
 * where this is the first process of a container. The answer is called when it serves, and resolves at the first SIGTERM
 * or SIGINT; a later second one ends the process at once.
 */
function takeSignals(): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let isServing = false
  let firstAt = 0
  const onSignal = (): void => {
    const now = performance.now()
    if (!isServing) process.exit(0)
    if (firstAt === 0) {
      firstAt = now
      resolve()
    } else if (now - firstAt > sameSignalMs) process.exit(130)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  return () => {
    isServing = true
    return promise
  }
}
