/**
 * The ledger of a cluster on its own: three nodes hold and settle for a single hot account on one PostgreSQL
 * with fsync. Also measures how much space a request takes in the database.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { openClient, runScript } from '../src/db/postgres/connection.ts'
import {
  findPostgresPrograms,
  startPostgres,
  type PostgresServer,
} from '../src/db/postgres/postgres.fixture.ts'
import { cpuMicros } from './cpu.ts'
import { nodeProgram, type NodeSample, type NodeMessage } from './cluster-node.ts'
import { median } from './quartiles.ts'
import type { LedgerFixture } from './ledger.ts'
import type { LedgerLoadRequest } from './ledger-load.ts'

const nodeCount = 3
/** Per node. */
const inFlights = [64, 128, 192]
const walFiles = 64
/**
 * As docs/operations/clusters.md recommends for a busy cluster: checkpoints are rare, and WAL files are
 * preallocated.
 */
const postgresSettings = [
  'max_connections=100',
  'shared_buffers=256MB',
  'max_wal_size=4GB',
  `min_wal_size=${walFiles * 16}MB`,
  'checkpoint_timeout=30min',
]

export interface ClusterFigures {
  /** Of all nodes together. */
  readonly inFlight: number
  readonly perSecond: number
  /** Of the slowest node. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly chargeP99Ms: number
  /** Processor time of one hold and one settlement: of the nodes, and of the database. */
  readonly nodeMicros: number
  readonly databaseMicros: number
}

export interface ClusterRun {
  readonly figures: readonly ClusterFigures[]
  /** The bytes that one request adds to the database, including indexes. */
  readonly bytesPerRequest: { readonly requests: number; readonly entries: number; readonly journal: number }
}

/** Null if PostgreSQL is not installed. */
export async function measureCluster(
  directory: string,
  seconds: number,
  rounds: number,
): Promise<ClusterRun | null> {
  if (findPostgresPrograms() === undefined) return null
  // PostgreSQL runs as another user, who must be able to enter the directory.
  chmodSync(directory, 0o755)
  const postgres = await startPostgres(postgresSettings, directory)
  const nodes: BenchNode[] = []
  try {
    const url = await postgres.createDatabase()
    let fixture: LedgerFixture | undefined
    for (let index = 0; index < nodeCount; index += 1) {
      const dataDir = join(directory, `cluster-node-${index + 1}`)
      mkdirSync(dataDir)
      const node = new BenchNode(dataDir, url, fixture)
      nodes.push(node)
      fixture = await node.ready()
    }
    await fillWalFiles(url)
    await sampleOf(nodes, postgres, { inFlight: 64, seconds: 2 })
    const samples: ClusterFigures[] = []
    for (let round = 0; round < rounds; round += 1) {
      for (const inFlight of inFlights) samples.push(await sampleOf(nodes, postgres, { inFlight, seconds }))
    }
    return { figures: figuresOf(samples), bytesPerRequest: await measureBytesPerRequest(url) }
  } finally {
    for (const node of nodes.toReversed()) await node.stop()
    await postgres.remove()
  }
}

class BenchNode {
  readonly #child: ChildProcess
  readonly #ended: Promise<never>

  constructor(dataDir: string, url: string, fixture: LedgerFixture | undefined) {
    const known = fixture === undefined ? [] : [JSON.stringify(fixture)]
    this.#child = fork(nodeProgram, [dataDir, url, ...known])
    this.#ended = once(this.#child, 'exit').then(() => {
      throw new Error('A node has exited.')
    })
    // Failures are reported only to those who wait for a message.
    this.#ended.catch(() => undefined)
  }

  async #nextMessage(): Promise<NodeMessage> {
    const [message] = (await Promise.race([once(this.#child, 'message'), this.#ended])) as [NodeMessage]
    return message
  }

  async ready(): Promise<LedgerFixture> {
    const message = await this.#nextMessage()
    if (!('fixture' in message)) throw new Error('A node sent a sample before it was asked for one.')
    return message.fixture
  }

  async measure(request: LedgerLoadRequest): Promise<NodeSample> {
    this.#child.send(request)
    const message = await this.#nextMessage()
    if (!('sample' in message)) throw new Error('A node sent its fixture twice.')
    return message.sample
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const exit = once(this.#child, 'exit')
    this.#child.disconnect()
    const [code] = (await exit) as [number | null]
    if (code !== 0) throw new Error('the ledger of the cluster does not verify')
  }
}

async function sampleOf(
  nodes: readonly BenchNode[],
  postgres: PostgresServer,
  request: LedgerLoadRequest,
): Promise<ClusterFigures> {
  const before = cpuMicros(postgres.pid)
  const samples = await Promise.all(nodes.map((node) => node.measure(request)))
  const databaseMicros = cpuMicros(postgres.pid) - before
  const perSecond = samples.reduce((sum, sample) => sum + sample.perSecond, 0)
  const requests = perSecond * request.seconds
  const cpuMs = samples.reduce((sum, sample) => sum + sample.cpuMs, 0)
  return {
    inFlight: request.inFlight * nodes.length,
    perSecond,
    p50Ms: Math.max(...samples.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...samples.map(({ p99Ms }) => p99Ms)),
    chargeP99Ms: Math.max(...samples.map(({ chargeP99Ms }) => chargeP99Ms)),
    nodeMicros: (cpuMs * 1000) / requests,
    databaseMicros: databaseMicros / requests,
  }
}

function figuresOf(samples: readonly ClusterFigures[]): ClusterFigures[] {
  return inFlights.map((each) => {
    const inFlight = each * nodeCount
    const own = samples.filter((sample) => sample.inFlight === inFlight)
    const middle = (of: (sample: ClusterFigures) => number): number => median(own.map(of))
    return {
      inFlight,
      perSecond: middle((sample) => sample.perSecond),
      p50Ms: middle((sample) => sample.p50Ms),
      p99Ms: middle((sample) => sample.p99Ms),
      chargeP99Ms: middle((sample) => sample.chargeP99Ms),
      nodeMicros: middle((sample) => sample.nodeMicros),
      databaseMicros: middle((sample) => sample.databaseMicros),
    }
  })
}

/** Preallocates WAL files, which a database that has run for a while has and a new one would wait for. */
async function fillWalFiles(url: string): Promise<void> {
  const client = await openClient({ url, name: 'bench', statementMs: 60_000 })
  for (let file = 0; file < walFiles; file += 1)
    await client.query(`select pg_logical_emit_message(false, '', ''), pg_switch_wal()`)
  await client.query('checkpoint')
  await client.end()
}

async function measureBytesPerRequest(url: string): Promise<ClusterRun['bytesPerRequest']> {
  const client = await openClient({ url, name: 'bench', statementMs: 60_000 })
  const size = (table: string): string =>
    `(select coalesce(sum(pg_total_relation_size(relid))::bigint, pg_total_relation_size('${table}'))
      from pg_partition_tree('${table}')) as ${table}`
  const [[row] = []] = await runScript(
    client,
    `select ${size('requests')}, ${size('entries')}, ${size('journal')},
      (select count(*) from requests) as count`,
  )
  await client.end()
  const count = Number(row?.['count'])
  const each = (table: string): number => Number(row?.[table]) / count
  return { requests: each('requests'), entries: each('entries'), journal: each('journal') }
}
