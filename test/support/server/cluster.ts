/** Several nodes over one database for a test; the test server uses the first node. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { startPostgres, type PostgresServer } from '../../../src/db/postgres/postgres.fixture.ts'
import { sendConcurrently } from '../client/parallel-requests.ts'
import { Account, chatRequest } from './account.ts'
import { TestServer, type RegisteredUpstream } from './test-server.ts'
import { startRelay, type RelayProcess } from './relay-process.ts'
import { waitFor } from '../upstream/fault-injection.ts'
import { respondWith } from '../upstream/scripted-responses.ts'
import type { ScriptedUpstream } from '../upstream/scripted-upstream.ts'
import { waitUntil } from '../wait.ts'

/** Per 1,000 tokens, in yuan. */
export const modelPrices: [string, string] = ['0.002', '0.008']
/** A request holds at least 1,024 tokens on a route that was not seen to obey the maximum. */
const minUnseenHold = 0.008

export interface Cluster {
  readonly server: TestServer
  readonly postgres: PostgresServer
  readonly url: string
  /** All nodes; the test server's is the first. */
  readonly nodes: RelayProcess[]
  /** Restarts a killed node on its data directory and port, with other settings if given. */
  restartNode(
    index: number,
    env?: Record<string, string>,
    readyStatuses?: readonly number[],
  ): Promise<RelayProcess>
}

export interface ClusterOptions {
  /** A server that is not stopped and that other clusters use as well; default: a new one. */
  readonly postgres?: PostgresServer | undefined
  /** May put a proxy in front of the database. */
  readonly databaseUrlFor?: (url: string) => Promise<string>
}

/** Registers what closes the cluster, before anything is opened. */
type OnOpen = (nodes: readonly RelayProcess[], close: () => Promise<void>) => void

/** Starts one PostgreSQL for all tests of a file and removes it after the last one. */
export async function sharedPostgres(): Promise<PostgresServer> {
  const postgres = await startPostgres()
  after(() => postgres.remove())
  return postgres
}

/** Starts one cluster for all tests of a file and closes it after the last one. */
export function sharedCluster(
  count: number,
  env: Record<string, string> = {},
  options: ClusterOptions = {},
): Promise<Cluster> {
  return openCluster(count, env, options, (_, close) => after(close))
}

/** Starts a cluster for one test and closes it afterwards. */
export function startCluster(
  t: TestContext,
  count: number,
  env: Record<string, string> = {},
  options: ClusterOptions = {},
): Promise<Cluster> {
  return openCluster(count, env, options, (nodes, close) =>
    t.after(async () => {
      if (t.error !== null)
        for (const node of nodes) for (const line of node.lines.slice(-30)) t.diagnostic(line)
      await close()
    }),
  )
}

async function startNodes(
  nodes: RelayProcess[],
  folder: string,
  count: number,
  env: Record<string, string>,
): Promise<void> {
  const starts = await Promise.allSettled(
    Array.from({ length: count }, async (_, index) => {
      const dataDir = join(folder, `node-${index + 1}`)
      await mkdir(dataDir)
      return startRelay({ dataDir, env })
    }),
  )
  for (const start of starts) if (start.status === 'fulfilled') nodes.push(start.value)
  for (const start of starts) if (start.status === 'rejected') throw start.reason
}

async function openCluster(
  count: number,
  env: Record<string, string>,
  { postgres: sharedServer, databaseUrlFor = (url) => Promise.resolve(url) }: ClusterOptions,
  onOpen: OnOpen,
): Promise<Cluster> {
  const postgres = sharedServer ?? (await startPostgres())
  const folder = await mkdtemp(join(tmpdir(), 'sluice-nodes-'))
  const nodes: RelayProcess[] = []
  let opened: TestServer | null = null
  onOpen(nodes, async () => {
    try {
      await opened?.close()
    } finally {
      await Promise.all(nodes.map((node) => node.stop()))
      if (sharedServer === undefined) await postgres.remove()
      await rm(folder, { recursive: true, force: true })
    }
  })
  const url = await postgres.createDatabase()
  const settings = { DATABASE_URL: await databaseUrlFor(url), ...env }
  await startNodes(nodes, folder, count, settings)
  const [first] = nodes
  if (first === undefined) throw new Error('A cluster has at least one node.')
  const server = new TestServer(first, { env: settings })
  opened = server
  return {
    server,
    postgres,
    url,
    nodes,
    async restartNode(index, changed = {}, readyStatuses = [200]) {
      const { dataDir, port } = nodes[index] ?? first
      const node = await startRelay({
        dataDir,
        port,
        env: { ...settings, ...changed },
        readyStatuses,
      })
      nodes[index] = node
      if (index === 0) server.relay = node
      return node
    },
  }
}

/** Adds a model with its own upstream. */
export async function addModel({ server }: Cluster, id = 'm'): Promise<RegisteredUpstream> {
  const upstream = await server.upstream(respondWith('Hello!'))
  await server.model(id, { upstreams: [upstream], prices: modelPrices, max_output_tokens: 8192 })
  return upstream
}

/** Waits until a worker of every node serves the model to the key. */
export async function waitUntilServed({ nodes }: Cluster, secret: string, model = 'm'): Promise<void> {
  const headers = { authorization: `Bearer ${secret}` }
  const isServed = async ({ url }: RelayProcess): Promise<boolean> => {
    const response = await fetch(`${url}/v1/models/${model}`, { headers })
    await response.body?.cancel()
    return response.status === 200
  }
  await Promise.all(nodes.map((node) => waitUntil(() => isServed(node))))
}

/**
 * Waits until every worker of every node has applied all changes made so far. The workers of a node apply a change
 * independently of each other, but all of them do so before the node looks for later changes.
 */
export async function waitUntilApplied(cluster: Cluster, model = 'm'): Promise<void> {
  const { server } = cluster
  // Not an account of the test server, which expects that the database keeps its accounts.
  const fields = { email: `later-${randomUUID()}@example.com`, tier: 'enterprise' }
  const account = new Account(server, (await server.admin<{ id: string }>('POST', '/accounts', fields)).id)
  // The first of two later keys may have been found together with the earlier changes.
  for (let round = 0; round < 2; round += 1)
    await waitUntilServed(cluster, (await account.newKey()).secret, model)
}

/** Shows one node that the model’s route obeys a maximum, and waits until all nodes know. */
export async function showObedience(
  cluster: Cluster,
  model: string,
  upstream: ScriptedUpstream,
): Promise<void> {
  const { server, nodes } = cluster
  const account = await server.account({ balance: '1' })
  await waitUntilServed(cluster, account.key.secret, model)
  upstream.next(respondWith('Hi', { input: 1, output: 16 }, { finish: 'length' }))
  const body = chatRequest(model, { max_tokens: 16 })
  const [outcome] = await sendConcurrently(account, server.url, body, 1)
  assert.equal(outcome?.status, 200)
  for (const { url } of nodes) {
    // Until the node knows, the request holds at least 1,024 tokens.
    await waitUntil(async () => Number(await heldBy(account, url, { body, upstream })) < minUnseenHold)
  }
}

/** What a request at this node holds while its upstream responds. */
async function heldBy(
  account: Account,
  url: string,
  { body, upstream }: { readonly body: object; readonly upstream: ScriptedUpstream },
): Promise<string> {
  const resume = Promise.withResolvers<void>()
  const before = upstream.requests.length
  upstream.next(waitFor(resume.promise, respondWith('Hi', { input: 1, output: 1 })))
  const pending = sendConcurrently(account, url, body, 1)
  await waitUntil(async () => upstream.requests.length > before)
  const held = await account.held()
  resume.resolve()
  await pending
  return held
}

/** Whether the node holds the lease of the cluster's leader. */
export async function isLeader(node: RelayProcess): Promise<boolean> {
  const headers = { authorization: `Bearer ${node.adminKey}` }
  const text = await (await fetch(`${node.url}/metrics`, { headers })).text()
  return /^sluice_leads 1$/m.test(text)
}
