/**
 * `sluice serve`: locks the data directory, opens the core while threads load the workers' modules, starts the workers,
 * and serves until a signal; then drains. The order of this file is the order of the process's life.
 */
import { join } from 'node:path'
import { findSettingWarnings, type Config } from '../config.ts'
import { backupsFolder } from '../config/data.ts'
import { baseUrlsOf } from '../http/public-urls.ts'
import { AdmissionOutages } from '../health/admission-outage.ts'
import { collectGarbageWhenIdle } from '../lib/idle-garbage-collection.ts'
import { createLog, type Log } from '../lib/log.ts'
import { formatAmount } from '../lib/money.ts'
import { wallClock, type Core, type CoreListener } from '../engine/core.ts'
import { monitorClock } from './clock-monitor.ts'
import { serveControlSocket } from './control-socket.ts'
import { loadWorkers } from './workers/worker-host.ts'
import { WorkerPool } from './workers/worker-pool.ts'
import { startDemo } from './demo/demo.ts'
import { startLeaderJobs } from '../jobs/leader-jobs.ts'
import { acquireLock } from '../db/sqlite/data-directory-lock.ts'
import { createAdminHandler } from './local-admin.ts'
import { KeyUsage } from '../engine/key-usage.ts'
import { RejectionRecorder } from '../engine/rejection-recorder.ts'
import { openCore } from './open-core.ts'
import { ControlHandler } from './workers/control-handler.ts'
import { findPortProblem } from './connection-checks.ts'
import { listenIfSlow } from './startup-listener.ts'
import { closeAll, drain, exitOnStoreFailure, handleSignals } from './shutdown.ts'
import { findMissingDatabaseUrl } from './store-location.ts'
import { findTlsProblem } from './tls-listener.ts'
import { announceStart, createSetupLink } from './startup-banner.ts'
import { version } from '../lib/version.ts'
import { waitForDatabase } from './wait-for-database.ts'

/** Drift between journal, balances, entries and request rows is found within this time. */
const monitorLedgerEveryMs = 60_000
/** How long callers wait while the store rejects commits. Meanwhile, streams are kept alive. */
const storeTimeoutMs = 30_000

/** What changes while the relay runs, and decides whether it admits requests. */
interface RelayState {
  workerPool: WorkerPool | null
  isLedgerConsistent: boolean
  readonly outages: AdmissionOutages
}

/** Resolves when the relay has stopped. */
export async function serve(config: Config): Promise<void> {
  const problem = findMissingDatabaseUrl(config)
  if (problem !== null) throw new Error(problem)
  const log = createLog(config.logLevel)
  for (const warning of findSettingWarnings(config)) log.warn(warning, 'check your settings')
  const lock = acquireLock(config.dataDir, { command: 'serve' })
  const signals = handleSignals()
  const state: RelayState = { workerPool: null, isLedgerConsistent: true, outages: new AdmissionOutages() }
  reloadOnHangup(config, state, log)
  await checkPort(config)
  // Only Linux spreads the connections of one port over several listeners.
  const workers = process.platform === 'linux' ? config.workers : 1
  const loadedWorkers = loadWorkers(workers)
  const core = await openStore(config, coreListener(state, log), log)
  const controlHandler = await ControlHandler.open({
    core,
    config,
    log,
    workerMetrics: async () => (await state.workerPool?.collectMetrics()) ?? [],
    isLedgerConsistent: () => state.isLedgerConsistent,
    outages: state.outages,
  })
  const demo = await startDemo(config, core, controlHandler)
  const keyUsage = new KeyUsage(core.store.db, log)
  const rejections = new RejectionRecorder(core, log, wallClock())
  const upstreamAllow = [...config.upstreamAllow, ...(demo?.allow ?? [])]
  const workerConfig = { ...config, workers, upstreamAllow }
  const pool = { core, config: workerConfig, log, control: controlHandler, keyUsage, rejections }
  const workerPool = new WorkerPool(pool)
  state.workerPool = workerPool
  await workerPool.start(loadedWorkers)
  const onInternalError = (error: unknown, request: string): void =>
    log.error({ err: error, request }, 'internal error')
  const adminHandler = createAdminHandler(workerConfig, core, controlHandler, onInternalError)
  const controlSocket = await serveControlSocket(config.dataDir, adminHandler)
  // Before the relay admits requests: a signal from then on must start a drain.
  const signal = signals()
  const setupLink = await createSetupLink(config, core.store.db)
  workerPool.updateState({ isReady: true })
  await workerPool.listen()
  const stopReconciliation = controlHandler.creditService.startReconciliation(log)
  const stopLedgerMonitor = monitorLedger(core, log, () => {
    state.isLedgerConsistent = false
    core.authority.haltAdmission()
    updateAdmission(state, false)
  })
  monitorClock((jumpMs) => log.warn({ seconds: Math.round(jumpMs / 1000) }, 'clock jumped'))
  const stopLeaderJobs = startLeaderJobs(config, core, controlHandler, log)
  const { host, port, dataDir: data } = config
  log.info({ version, host, port, workers, data, urls: baseUrlsOf(config) }, 'ready')
  announceStart(config, { demo, setupLink, log })
  void tryBackupFolder(config, controlHandler, log)
  collectGarbageWhenIdle()
  await signal
  await drain(workerPool, config, log)
  await closeAll(log, {
    // The backup schedule waits for a running backup, which is ended here.
    'leader jobs': () =>
      Promise.all([stopLeaderJobs(), controlHandler.closePayments(), controlHandler.backups.close()]),
    'ledger monitor': stopLedgerMonitor,
    'credit reconciliation': stopReconciliation,
    'key usage': () => keyUsage.close(),
    'control socket': () => controlSocket.close(),
    demo: () => demo?.close(),
    rejections: () => rejections.close(),
    ledger: () => core.close(),
  })
  lock.release()
  exit(controlHandler, log)
}

function exit({ backups }: ControlHandler, log: Log): never {
  log.info('stopped')
  // The thread that waits for the file system would be waited for.
  if (backups.isStuck) process.kill(process.pid, 'SIGKILL')
  process.exit(0)
}

/** SIGHUP, which programs that rotate logs and terminals that close send too, reloads and never ends the relay. */
function reloadOnHangup({ tlsCertFile }: Config, state: RelayState, log: Log): void {
  process.on('SIGHUP', () => {
    log.info(tlsCertFile === null ? 'SIGHUP: nothing to reload' : 'SIGHUP: reloading the TLS certificate')
    state.workerPool?.reloadCertificate()
  })
}

/** Says at the start, and not at the first backup, that none can be made. */
async function tryBackupFolder(
  { backupDir, backupEveryMs, dataDir }: Config,
  { backups }: ControlHandler,
  log: Log,
): Promise<void> {
  if (backupEveryMs === 0 && backupDir === join(dataDir, backupsFolder)) return
  const problem = await backups.findProblem()
  if (problem !== null) log.error({ folder: backupDir, problem }, 'backup folder cannot be used')
}

function updateAdmission({ workerPool, isLedgerConsistent, outages }: RelayState, isOpen: boolean): void {
  outages.onAdmissionChange(isOpen && isLedgerConsistent, Date.now())
  workerPool?.updateState({ outage: outages.current })
}

function coreListener(state: RelayState, log: Log): CoreListener {
  let storeTimeout: NodeJS.Timeout | undefined
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
    onFailure: (why) => exitOnStoreFailure(log, why),
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
