/** Several nodes over one database for a story: a house on the first, and the others beside it. */

import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startPostgres, type PostgresServer } from '../src/db/postgres/postgres.fixture.ts'
import { House, type KnownUpstream } from './support/server/test-server.ts'
import { startRelay, type RelayProcess } from './support/server/relay-process.ts'
import { saying } from './support/upstream/scripted-responses.ts'

const patienceMs = 60_000
/** Per 1,000 tokens, in yuan. */
export const modelPrices: [string, string] = ['0.002', '0.008']

export interface Cluster {
  readonly house: House
  readonly postgres: PostgresServer
  readonly url: string
  /** All nodes, that of the house first. */
  readonly nodes: RelayProcess[]
  /** Starts a node again on its data directory and port, after it was killed; with other settings, if so. */
  again(index: number, env?: Record<string, string>, readyAs?: readonly number[]): Promise<RelayProcess>
}

/** Opens a cluster for one test, which closes it at its end, also when it fails. `wayTo`: how nodes come to the database. */
export async function openCluster(
  t: TestContext,
  count: number,
  env: Record<string, string> = {},
  wayTo: (url: string) => Promise<string> = (url) => Promise.resolve(url),
): Promise<Cluster> {
  const postgres = await startPostgres()
  const folder = await mkdtemp(join(tmpdir(), 'sluice-nodes-'))
  const nodes: RelayProcess[] = []
  let opened: House | null = null
  t.after(async () => {
    if (t.error !== null) {
      for (const node of nodes) for (const line of node.lines.slice(-30)) t.diagnostic(line)
    }
    try {
      await opened?.close()
    } finally {
      await Promise.all(nodes.map((node) => node.stop()))
      await postgres.remove()
      await rm(folder, { recursive: true, force: true })
    }
  })
  const url = await postgres.database()
  const settings = { DATABASE_URL: await wayTo(url), ...env }
  const starts = await Promise.allSettled(
    Array.from({ length: count }, async (_, index) => {
      const dataDir = join(folder, `node-${index + 1}`)
      await mkdir(dataDir)
      return startRelay({ dataDir, env: settings })
    }),
  )
  for (const start of starts) if (start.status === 'fulfilled') nodes.push(start.value)
  for (const start of starts) if (start.status === 'rejected') throw start.reason
  const [first] = nodes
  if (first === undefined) throw new Error('A cluster has at least one node.')
  const house = new House(first, { env: settings })
  opened = house
  return {
    house,
    postgres,
    url,
    nodes,
    async again(index, changed = {}, readyAs = [200]) {
      const { dataDir, port } = nodes[index] ?? first
      const node = await startRelay({ dataDir, port, env: { ...settings, ...changed }, readyAs })
      nodes[index] = node
      if (index === 0) house.relay = node
      return node
    },
  }
}

/** Tries again until it holds. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  withinMs: number = patienceMs,
): Promise<void> {
  for (const start = performance.now(); !(await holds()); await delay(20)) {
    assert.ok(performance.now() - start < withinMs, 'it did not come about')
  }
}

/** A model `m`, by an upstream of its own. */
export async function withModel({ house }: Cluster): Promise<KnownUpstream> {
  const upstream = await house.upstream(saying('Hello!'))
  await house.model('m', { upstreams: [upstream], prices: modelPrices, max_output_tokens: 8192 })
  return upstream
}

/** Waits until every node serves the model to the key, for a change reaches the others within a second. */
export async function served({ nodes }: Cluster, secret: string, model = 'm'): Promise<void> {
  for (const { url } of nodes) {
    await until(async () => {
      const headers = { authorization: `Bearer ${secret}` }
      const reply = await fetch(`${url}/v1/models/${model}`, { headers })
      await reply.body?.cancel()
      return reply.status === 200
    })
  }
}

/** Whether a node says that it does what one does for all. */
export async function leads(node: RelayProcess): Promise<boolean> {
  const headers = { authorization: `Bearer ${node.adminKey}` }
  const text = await (await fetch(`${node.url}/metrics`, { headers })).text()
  return /^sluice_leads 1$/m.test(text)
}
