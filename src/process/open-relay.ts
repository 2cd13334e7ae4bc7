/**
 * Opens a relay in this process: locks the data directory, opens the core while threads load the workers' modules,
 * starts the workers, and serves until it is closed. The order of this file is the order of the relay's life. Several
 * relays may share a process; what belongs to the process, such as signals and standard output, is in serve.ts.
 */
import { join } from 'node:path'
import { findSettingWarnings, readConfig, type Config, type Environment } from '../config.ts'
import { backupsFolder } from '../config/data.ts'
import { AdmissionOutages } from '../health/admission-outage.ts'
import { baseUrlsOf, listeningUrlOf } from '../http/public-urls.ts'
import { createLog, type Log, type LogSink } from '../lib/log.ts'
import { formatAmount } from '../lib/money.ts'
import { wallClock, type Core, type CoreListener } from '../engine/core.ts'
import { monitorClock } from './clock-monitor.ts'
import { serveControlSocket } from './control-socket.ts'
import { loadWorkers, type LoadedWorker } from './workers/worker-host.ts'
import { WorkerPool } from './workers/worker-pool.ts'
import { startDemo, type Demo } from './demo/demo.ts'
import { startLeaderJobs } from '../jobs/leader-jobs.ts'
import { acquireLock } from '../db/sqlite/data-directory-lock.ts'
import { createAdminHandler } from './local-admin.ts'
import { KeyUsage } from '../engine/key-usage.ts'
import { RejectionRecorder } from '../engine/rejection-recorder.ts'
import { openCore } from './open-core.ts'
import { ControlHandler } from './workers/control-handler.ts'
import { findPortProblem } from './connection-checks.ts'
import { listenIfSlow } from './startup-listener.ts'
import { drain, OpenParts } from './shutdown.ts'
import { findMissingDatabaseUrl } from './store-location.ts'
import { findTlsProblem } from './tls-listener.ts'
import { createSetupLink, logStart, type SetupLink } from './startup-banner.ts'
import { version } from '../lib/version.ts'
import { waitForDatabase } from './wait-for-database.ts'

/** Drift between journal, balances, entries and request rows is found within this time. */
const monitorLedgerEveryMs = 60_000
/** How long callers wait while the store rejects commits. Meanwhile, streams are kept alive. */
const storeTimeoutMs = 30_000

export interface RelayOptions {
  /** Takes the lines of the log. */
  readonly log: LogSink
  /**
   * The store failed, so nothing in memory is certain to reach the disk any more, and the next start reads the disk.
   * All listeners are closed by then; the relay can only be closed.
   */
  readonly onFatal: (why: string) => void
  /** Called before the relay admits requests: from then on, only `close` ends it without losing any. */
  readonly beforeServing?: () => void
  /** The one-time link that creates the first operator is returned instead of written to a file. */
  readonly showsSetupLink?: boolean
}

export interface OpenRelay {
  /** Where it listens. */
  readonly url: string
  readonly config: Config
  readonly demo: Demo | null
  readonly setupLink: SetupLink | null
  /** A thread waits for a file system that does not respond: it does not end with `close`, and the process waits for it. */
  readonly isStuck: boolean
  /** Reads the TLS certificate again. */
  reloadCertificate(): void
  /** Drains the workers, and closes everything; afterwards, another relay may open the data directory. */
  close(): Promise<void>
}

/** What changes while the relay runs, and decides whether it admits requests. */
interface RelayState {
  workerPool: WorkerPool | null
  isLedgerConsistent: boolean
  hasStoreFailed: boolean
  readonly outages: AdmissionOutages
}

/** What the steps of the start share. */
interface Opening extends Omit<RelayOptions, 'log'> {
  readonly config: Config
  readonly log: Log
  readonly logSink: LogSink
  readonly parts: OpenParts
  readonly state: RelayState
}

/** Resolves when the relay serves. Throws a `ConfigError` with every invalid setting. */
export async function openRelay(environment: Environment, options: RelayOptions): Promise<OpenRelay> {
  const config = readConfig(environment)
  const problem = findMissingDatabaseUrl(config)
  if (problem !== null) throw new Error(problem)
  const log = createLog(config.logLevel, options.log)
  for (const warning of findSettingWarnings(config, environment)) log.warn(warning, 'check your settings')
  const lock = acquireLock(config.dataDir, { command: 'serve' })
  const parts = new OpenParts(log)
  parts.add('lock', () => lock.release())
  const state = {
    workerPool: null,
    isLedgerConsistent: true,
    hasStoreFailed: false,
    outages: new AdmissionOutages(),
  }
  try {
    return await open({ ...options, config, log, logSink: options.log, parts, state })
  } catch (error) {
    await parts.close()
    throw error
  }
}

async function open(opening: Opening): Promise<OpenRelay> {
  const { log, parts, state } = opening
  await checkPort(opening.config)
  // Only Linux spreads the connections of one port over several listeners.
  const workers = process.platform === 'linux' ? opening.config.workers : 1
  const config = { ...opening.config, workers }
  const loadedWorkers = loadWorkers(workers, opening.logSink)
  parts.add('workers', () => Promise.all(loadedWorkers.map((worker) => worker.terminate())))
  const core = await openStore(config, coreListener(opening), log)
  parts.add('ledger', () => core.close())
  const control = await openControl(opening, core)
  const demo = await startDemo(config, core, control)
  parts.add('demo', () => demo?.close())
  const workerConfig = { ...config, upstreamAllow: [...config.upstreamAllow, ...(demo?.allow ?? [])] }
  const workerPool = await startWorkers({ ...opening, config: workerConfig }, core, control, loadedWorkers)
  await openControlSocket(workerConfig, { core, control, parts, log })
  opening.beforeServing?.()
  const setupLink = await createSetupLink(config, core.store.db, opening.showsSetupLink === true)
  workerPool.updateState({ isReady: true })
  await workerPool.listen()
  startBackgroundWork(opening, core, control)
  const { host, port, dataDir: data } = config
  log.info({ version, host, port, workers, data, urls: baseUrlsOf(config) }, 'ready')
  logStart(setupLink, log)
  void tryBackupFolder(opening, control)
  const close = async (): Promise<void> => {
    if (!state.hasStoreFailed) await drain(workerPool, config, log)
    await parts.close()
    log.info('stopped')
  }
  let closing: Promise<void> | undefined
  return {
    url: listeningUrlOf(config),
    config,
    demo,
    setupLink,
    get isStuck() {
      return control.backups.isStuck
    },
    reloadCertificate() {
      log.info(
        config.tlsCertFile === null ? 'SIGHUP: nothing to reload' : 'SIGHUP: reloading the TLS certificate',
      )
      workerPool.reloadCertificate()
    },
    close: () => (closing ??= close()),
  }
}

async function openControl({ config, log, parts, state }: Opening, core: Core): Promise<ControlHandler> {
  const control = await ControlHandler.open({
    core,
    config,
    log,
    workerMetrics: async () => (await state.workerPool?.collectMetrics()) ?? [],
    isLedgerConsistent: () => state.isLedgerConsistent,
    outages: state.outages,
  })
  parts.add('payments and backups', () => control.close())
  return control
}

async function startWorkers(
  { config, log, logSink, parts, state }: Opening,
  core: Core,
  control: ControlHandler,
  loadedWorkers: readonly LoadedWorker[],
): Promise<WorkerPool> {
  const rejections = new RejectionRecorder(core, log, wallClock())
  parts.add('rejections', () => rejections.close())
  const keyUsage = new KeyUsage(core.store.db, log)
  parts.add('key usage', () => keyUsage.close())
  const workerPool = new WorkerPool({ core, config, log, logSink, control, keyUsage, rejections })
  state.workerPool = workerPool
  parts.add('worker pool', () => workerPool.terminate())
  await workerPool.start(loadedWorkers)
  return workerPool
}

async function openControlSocket(
  config: Config,
  { core, control, parts, log }: { core: Core; control: ControlHandler; parts: OpenParts; log: Log },
): Promise<void> {
  const onInternalError = (error: unknown, request: string): void =>
    log.error({ err: error, request }, 'internal error')
  const admin = createAdminHandler(config, core, control, onInternalError)
  parts.add('local admin', () => admin.close())
  const controlSocket = await serveControlSocket(config.dataDir, admin.fetch)
  parts.add('control socket', () => controlSocket.close())
}

/** What runs next to requests. */
function startBackgroundWork(
  { config, log, parts, state }: Opening,
  core: Core,
  control: ControlHandler,
): void {
  parts.add('credit reconciliation', control.creditService.startReconciliation(log))
  const stopLedgerMonitor = monitorLedger(core, log, () => {
    state.isLedgerConsistent = false
    core.authority.haltAdmission()
    updateAdmission(state, false)
  })
  parts.add('ledger monitor', stopLedgerMonitor)
  parts.add(
    'clock monitor',
    monitorClock((jumpMs) => log.warn({ seconds: Math.round(jumpMs / 1000) }, 'clock jumped')),
  )
  const stopLeaderJobs = startLeaderJobs(config, core, control, log)
  // The backup schedule waits for a running backup, which is ended here.
  parts.add('leader jobs', () => Promise.all([stopLeaderJobs(), control.close()]))
}

/** Says at the start, and not at the first backup, that none can be made. */
async function tryBackupFolder({ config, log, parts }: Opening, { backups }: ControlHandler): Promise<void> {
  const { backupDir, backupEveryMs, dataDir } = config
  if (backupEveryMs === 0 && backupDir === join(dataDir, backupsFolder)) return
  let isClosing = false
  parts.add('backup folder', () => (isClosing = true))
  const problem = await backups.findProblem()
  // The end of the thread says nothing about the folder.
  if (problem !== null && !isClosing)
    log.error({ folder: backupDir, problem }, 'backup folder cannot be used')
}

function updateAdmission({ workerPool, isLedgerConsistent, outages }: RelayState, isOpen: boolean): void {
  outages.onAdmissionChange(isOpen && isLedgerConsistent, Date.now())
  workerPool?.updateState({ outage: outages.current })
}

function coreListener({ state, log, parts, onFatal }: Opening): CoreListener {
  let storeTimeout: NodeJS.Timeout | undefined
  parts.add('store timeout', () => clearInterval(storeTimeout))
  return {
    onDurable: (commit) => state.workerPool?.onDurable(commit),
    onAdmissionChange(isOpen, why) {
      if (isOpen) log.info('admission resumed')
      else log.error({ why }, 'admission halted: store rejects commits')
      clearInterval(storeTimeout)
      // What was decided is written when the store is back, so callers wait for it until the timeout.
      if (!isOpen) storeTimeout = setInterval(() => state.workerPool?.failPending(), storeTimeoutMs)
      updateAdmission(state, isOpen)
    },
    onFailure(why) {
      if (state.hasStoreFailed) return
      state.hasStoreFailed = true
      log.fatal({ why }, 'store failed')
      void state.workerPool?.terminate()
      onFatal(why)
    },
    onConfigDelta: async (delta) => state.workerPool?.broadcast(delta),
    onRequestsDeleted: (requests) => log.info({ requests }, 'deleted expired request rows'),
    onWarning: (what, about) => log.warn(about, what),
  }
}

async function openStore(config: Config, listener: CoreListener, log: Log): Promise<Core> {
  const hasWaited = await waitForDatabase(config, log)
  const opening = openCore(config, listener)
  const onListenError = (error: unknown): void => log.warn({ err: error }, 'port not open during the start')
  const core = await (hasWaited ? listenIfSlow(config, opening, onListenError) : opening)
  logRecovery(core, log)
  logUnknownCosts(core, log)
  return core
}

function logRecovery({ recoveredHolds, health }: Core, log: Log): void {
  if (recoveredHolds > 0) log.warn({ holds: recoveredHolds }, 'recovered open holds')
  health.logChangesTo(log)
}

/** Before routes had costs, the prices of an upstream were taken for the cost of each of its models. */
function logUnknownCosts({ catalog }: Core, log: Log): void {
  for (const { upstream, models } of catalog.unknownCosts())
    log.warn({ upstream: upstream.name, models }, 'costs unknown: enter the cost of these models’ routes')
}

/** Verifies the ledger as it grows. Calls `onMismatch` once, when the ledger does not add up. */
function monitorLedger(core: Core, log: Log, onMismatch: () => void): () => Promise<void> {
  let isReported = false
  return core.monitorLedger(monitorLedgerEveryMs, {
    onReport({ ok, drift, findings }) {
      if (ok || isReported) return
      isReported = true
      log.fatal({ drift: formatAmount(drift), findings }, 'ledger mismatch: admission halted')
      onMismatch()
    },
    onError: (error) => log.error({ err: error }, 'ledger monitor failed'),
  })
}

/** Workers share the port, so without this check they would silently share it with another relay as well. */
async function checkPort(config: Config): Promise<void> {
  const { host, port } = config
  const problem = await findPortProblem(host, port)
  if (problem !== null) throw new Error(`Cannot listen on ${host}:${port} (${problem}). Set HOST or PORT.`)
  const tlsProblem = findTlsProblem(config)
  if (tlsProblem !== null) throw new Error(`Cannot use TLS_CERT_FILE and TLS_KEY_FILE: ${tlsProblem}`)
}
