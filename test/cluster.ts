/** Several nodes over one database for a story: a house on the first, and the others beside it. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { startPostgres, type PostgresServer } from '../src/db/postgres/postgres.fixture.ts'
import { House } from './house.ts'
import { startRelay, type RelayProcess } from './relay-process.ts'

export interface Cluster {
  readonly house: House
  readonly postgres: PostgresServer
  readonly url: string
  /** All nodes, that of the house first. */
  readonly nodes: RelayProcess[]
  /** Starts a node again on its data directory and port, after it was killed. */
  again(index: number): Promise<RelayProcess>
}

/** Opens a cluster for one test, which closes it at its end, also when it fails. */
export async function openCluster(
  t: TestContext,
  count: number,
  env: Record<string, string> = {},
): Promise<Cluster> {
  const postgres = await startPostgres()
  const url = await postgres.database()
  const settings = { DATABASE_URL: url, ...env }
  const start = async (): Promise<RelayProcess> => {
    const dataDir = await mkdtemp(join(tmpdir(), 'sluice-node-'))
    return startRelay({ dataDir, env: settings })
  }
  const nodes = await Promise.all(Array.from({ length: count }, start))
  const [first] = nodes
  if (first === undefined) throw new Error('A cluster has at least one node.')
  const house = new House(first, { env: settings })
  t.after(async () => {
    if (t.error !== null) {
      for (const node of nodes) for (const line of node.lines.slice(-30)) t.diagnostic(line)
    }
    try {
      await house.close()
    } finally {
      for (const node of nodes.slice(1)) {
        await node.stop()
        await rm(node.dataDir, { recursive: true, force: true })
      }
      await postgres.remove()
    }
  })
  return {
    house,
    postgres,
    url,
    nodes,
    async again(index) {
      const { dataDir, port } = nodes[index] ?? first
      const node = await startRelay({ dataDir, port, env: settings })
      nodes[index] = node
      if (index === 0) house.relay = node
      return node
    },
  }
}
