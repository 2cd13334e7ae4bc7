/**
 * The ledger of a cluster alone: three nodes hold and settle for one account, as hot as an account can be, through one
 * PostgreSQL that waits for its disk. Also what a request takes of the database's own room.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { openClient, runTexts } from '../src/db/postgres/connection.ts'
import { postgresPrograms, startPostgres, type PostgresServer } from '../src/db/postgres/postgres.fixture.ts'
import { cpuMicros } from './cpu.ts'
import { nodeProgram, type NodeSample, type NodeWord } from './cluster-node.ts'
import { median } from './figures.ts'
import type { Furnished } from './ledger.ts'
import type { LedgerAsk } from './ledger-load.ts'

const nodesCount = 3
/** Of each node. */
const inFlights = [64, 128, 192]
const logFiles = 64
/** As docs/operations.md has it for a busy cluster: a checkpoint is rare, and files of the log are there before they are needed. */
const settings = [
  'max_connections=100',
  'shared_buffers=256MB',
  'max_wal_size=4GB',
  `min_wal_size=${logFiles * 16}MB`,
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
  /** Processor time for one hold and one settlement: of the nodes, and of the database. */
  readonly nodeMicros: number
  readonly databaseMicros: number
}

export interface ClusterRun {
  readonly figures: readonly ClusterFigures[]
  /** What one request adds to the database: rows and indexes. */
  readonly bytesPerRequest: { readonly requests: number; readonly entries: number; readonly journal: number }
}

/** Null where PostgreSQL is not installed. */
export async function measureCluster(
  directory: string,
  seconds: number,
  rounds: number,
): Promise<ClusterRun | null> {
  if (postgresPrograms() === undefined) return null
  // PostgreSQL runs as somebody who has to get in.
  chmodSync(directory, 0o755)
  const postgres = await startPostgres(settings, directory)
  const nodes: Node[] = []
  try {
    const url = await postgres.database()
    let furnished: Furnished | undefined
    for (let index = 0; index < nodesCount; index += 1) {
      const dataDir = join(directory, `cluster-node-${index + 1}`)
      mkdirSync(dataDir)
      const node = new Node(dataDir, url, furnished)
      nodes.push(node)
      furnished = await node.ready()
    }
    await useLog(url)
    await sampleOf(nodes, postgres, { inFlight: 64, seconds: 2 })
    const samples: ClusterFigures[] = []
    for (let round = 0; round < rounds; round += 1) {
      for (const inFlight of inFlights) samples.push(await sampleOf(nodes, postgres, { inFlight, seconds }))
    }
    return { figures: figuresOf(samples), bytesPerRequest: await bytesOf(url) }
  } finally {
    for (const node of nodes.toReversed()) await node.stop()
    await postgres.remove()
  }
}

class Node {
  readonly #child: ChildProcess
  readonly #ended: Promise<never>

  constructor(dataDir: string, url: string, furnished: Furnished | undefined) {
    const known = furnished === undefined ? [] : [JSON.stringify(furnished)]
    this.#child = fork(nodeProgram, [dataDir, url, ...known])
    this.#ended = once(this.#child, 'exit').then(() => {
      throw new Error('A node has ended.')
    })
    // Only whoever waits for a word is told.
    this.#ended.catch(() => undefined)
  }

  async #word(): Promise<NodeWord> {
    const [word] = (await Promise.race([once(this.#child, 'message'), this.#ended])) as [NodeWord]
    return word
  }

  async ready(): Promise<Furnished> {
    const word = await this.#word()
    if (!('furnished' in word)) throw new Error('A node measures before it is asked.')
    return word.furnished
  }

  async measure(ask: LedgerAsk): Promise<NodeSample> {
    this.#child.send(ask)
    const word = await this.#word()
    if (!('sample' in word)) throw new Error('A node was furnished twice.')
    return word.sample
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const exit = once(this.#child, 'exit')
    this.#child.disconnect()
    const [code] = (await exit) as [number | null]
    if (code !== 0) throw new Error('the ledger of the cluster does not add up')
  }
}

async function sampleOf(
  nodes: readonly Node[],
  postgres: PostgresServer,
  ask: LedgerAsk,
): Promise<ClusterFigures> {
  const before = cpuMicros(postgres.pid)
  const samples = await Promise.all(nodes.map((node) => node.measure(ask)))
  const databaseMicros = cpuMicros(postgres.pid) - before
  const perSecond = samples.reduce((sum, sample) => sum + sample.perSecond, 0)
  const requests = perSecond * ask.seconds
  const cpuMs = samples.reduce((sum, sample) => sum + sample.cpuMs, 0)
  return {
    inFlight: ask.inFlight * nodes.length,
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
    const inFlight = each * nodesCount
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

/** What a database that has run for a while has, and a new one writes first, waiting for its disk: files to use again. */
async function useLog(url: string): Promise<void> {
  const client = await openClient({ url, name: 'bench', statementMs: 60_000 })
  for (let file = 0; file < logFiles; file += 1)
    await client.query(`select pg_logical_emit_message(false, '', ''), pg_switch_wal()`)
  await client.query('checkpoint')
  await client.end()
}

async function bytesOf(url: string): Promise<ClusterRun['bytesPerRequest']> {
  const client = await openClient({ url, name: 'bench', statementMs: 60_000 })
  const size = (table: string): string =>
    `(select coalesce(sum(pg_total_relation_size(relid))::bigint, pg_total_relation_size('${table}'))
      from pg_partition_tree('${table}')) as ${table}`
  const [[row] = []] = await runTexts(
    client,
    `select ${size('requests')}, ${size('entries')}, ${size('journal')},
      (select count(*) from requests) as count`,
  )
  await client.end()
  const count = Number(row?.['count'])
  const each = (table: string): number => Number(row?.[table]) / count
  return { requests: each('requests'), entries: each('entries'), journal: each('journal') }
}
