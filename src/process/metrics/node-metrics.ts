/** The metrics of a node that its workers do not know: process, ledger, disk, backups, incidents and notifications. */
import { X509Certificate } from 'node:crypto'
import { readdir, readFile, statfs } from 'node:fs/promises'
import { getHeapStatistics } from 'node:v8'
import { Counter, Gauge, Registry } from '@prometheus-io/client'
import type { Config } from '../../config.ts'
import type { BackupService } from '../../db/backups.ts'
import type { Db } from '../../db/db.ts'
import { memoizeFor } from '../../lib/memoize-for.ts'
import { tryRead } from '../../lib/try-read.ts'
import type { Core } from '../../engine/core.ts'
import { version } from '../../lib/version.ts'
import { registerEventLoopLag } from './event-loop-lag.ts'

export interface NodeMetricsSource {
  readonly core: Core
  readonly config: Config
  readonly backups: Pick<BackupService, 'list'>
  readonly isLedgerConsistent: () => boolean
}

/** What is read from disks and the database is kept this long, since anybody may request the metrics. */
const ioCacheMs = 2000
/** Less than Prometheus waits for a scrape. */
const maxReadMs = 1000

interface MetricWriter {
  readonly gauge: (name: string, help: string, value: number | undefined) => void
  readonly counter: (name: string, help: string, value: number, labels?: Record<string, string>) => void
}

function writerFor(registry: Registry): MetricWriter {
  const registers = [registry]
  return {
    gauge(name, help, value) {
      if (value !== undefined) new Gauge({ name, help, registers }).set(value)
    },
    counter: (name, help, value, labels = {}) =>
      new Counter({ name, help, labelNames: Object.keys(labels), registers }).inc(labels, value),
  }
}

function addLedger({ gauge, counter }: MetricWriter, { core, isLedgerConsistent }: NodeMetricsSource): void {
  gauge('sluice_admitting', '1: the store accepts commits', core.commits.isAdmitting ? 1 : 0)
  gauge('sluice_open_holds', 'Requests with an open hold on this node', core.state.holds.size)
  const overrunHelp = 'Cost of delivered responses that could not be charged, since the ledger began'
  const overrun = Number(core.state.overrun) / 1e9
  counter('sluice_overrun_total', overrunHelp, overrun, { currency: core.currency })
  if (core.currency === 'CNY')
    gauge(
      'sluice_overrun_yuan',
      `${overrunHelp}. Use sluice_overrun_total: the next release ends this one`,
      overrun,
    )
  counter('sluice_ledger_commits_total', 'Durable ledger commits', core.commits.durable)
  const isConsistent = isLedgerConsistent() ? 1 : 0
  gauge('sluice_ledger_consistent', '0: verification found that the ledger does not add up', isConsistent)
}

function addProcess({ gauge, counter }: MetricWriter): void {
  const { user, system } = process.cpuUsage()
  counter('process_cpu_seconds_total', 'CPU time of all threads', (user + system) / 1e6)
  gauge('process_resident_memory_bytes', 'Resident memory', process.memoryUsage.rss())
  const startedAtSeconds = (Date.now() - performance.now()) / 1000
  gauge('process_start_time_seconds', 'Start of the process, in seconds since the epoch', startedAtSeconds)
  gauge('nodejs_heap_size_used_bytes', 'Heap in use on the main thread', getHeapStatistics().used_heap_size)
}

/** A scrape never fails or waits because of one metric, least of all while the disk or the database is unavailable. */
function readable<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  return tryRead(read, maxReadMs)
}

/** The number of rows that `condition` selects. */
function countRows(db: Db, condition: string): Promise<number | undefined> {
  return readable(async () => {
    const [row] = await db.all<{ rows: number }>({
      sql: `select count(*) as rows from ${condition}`,
      parameters: [],
    })
    return Number(row?.rows)
  })
}

async function addStorage({ gauge }: MetricWriter, { config, backups }: NodeMetricsSource): Promise<void> {
  const openFiles = await readable(() => readdir('/proc/self/fd'))
  gauge('process_open_fds', 'Open file descriptors', openFiles?.length)
  const disk = await readable(() => statfs(config.dataDir))
  gauge('sluice_disk_free_bytes', 'Free space of DATA_DIR', disk && disk.bavail * disk.bsize)
  const newest = (await readable(() => backups.list()))?.find(({ state }) => state === 'whole')
  const backupHelp = 'When the newest usable backup was made, in seconds since the epoch; absent without one'
  gauge('sluice_last_backup_timestamp_seconds', backupHelp, newest && newest.madeAt / 1000)
  const { tlsCertFile } = config
  if (tlsCertFile === null) return
  const certificate = await readable(async () => new X509Certificate(await readFile(tlsCertFile)))
  const expiryHelp = 'When the TLS certificate ends, in seconds since the epoch'
  const expiresAt = certificate && Date.parse(certificate.validTo) / 1000
  gauge('sluice_certificate_expiry_timestamp_seconds', expiryHelp, expiresAt)
}

async function addDatabase({ gauge }: MetricWriter, { core, config }: NodeMetricsSource): Promise<void> {
  const { db } = core.store
  const [incidents, messages, holds] = await Promise.all([
    countRows(db, 'incidents where closed_at is null'),
    countRows(db, "outbox where state = 'queued' and attempts > 0"),
    // Rows of retired nodes remain, for settlements that arrive late.
    config.databaseUrl === null ? undefined : countRows(db, 'holds where retired_at is null'),
  ])
  gauge('sluice_incidents_open', 'Open incidents', incidents)
  gauge('sluice_notifications_undelivered', 'Messages whose delivery failed and is retried', messages)
  gauge('sluice_cluster_open_holds', 'Requests with an open hold on all nodes', holds)
}

async function collectIoMetrics(source: NodeMetricsSource): Promise<object> {
  const registry = new Registry()
  const writer = writerFor(registry)
  await Promise.all([addStorage(writer, source), addDatabase(writer, source)])
  return registry.getMetricsAsJSON()
}

export class NodeMetrics {
  readonly #source: NodeMetricsSource
  readonly #ioMetrics: () => Promise<object>
  /** The lag is measured between two scrapes. */
  readonly #lag = new Registry()

  constructor(source: NodeMetricsSource) {
    this.#source = source
    this.#ioMetrics = memoizeFor(ioCacheMs, () => collectIoMetrics(source))
    registerEventLoopLag(this.#lag, 'main')
  }

  /** In the format that `Registry.aggregate` takes. */
  async collect(): Promise<object[]> {
    const { core } = this.#source
    const registry = new Registry()
    const writer = writerFor(registry)
    addLedger(writer, this.#source)
    addProcess(writer)
    for (const { name, help, value } of core.gauges()) writer.gauge(name, help, value)
    core.health.addMetrics(registry)
    registry.registerMetric(core.commits.latency)
    new Gauge({
      name: 'sluice_build_info',
      help: 'Version of Sluice and Node.js',
      labelNames: ['version', 'node'] as const,
      registers: [registry],
    }).set({ version, node: process.versions.node }, 1)
    return Promise.all([registry.getMetricsAsJSON(), this.#lag.getMetricsAsJSON(), this.#ioMetrics()])
  }
}
