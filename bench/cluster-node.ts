/**
 * A node of the benchmarked cluster, without HTTP and without upstreams: a process whose one worker holds and
 * settles over the same channel to the authority as a relay's worker.
 *
 *   node bench/cluster-node.ts <data directory> <database> <fixture as JSON, or nothing>
 */
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { readConfig } from '../src/config.ts'
import { noopCoreListener } from '../src/engine/core.ts'
import { openCore } from '../src/process/open-core.ts'
import { createLedgerFixture, openLoad, type LedgerFixture } from './ledger.ts'
import type { LedgerLoadRequest, LedgerSample } from './ledger-load.ts'

export const nodeProgram: string = fileURLToPath(import.meta.url)

/** Messages of a node: first that it is ready, then a sample for each request. */
export type NodeMessage = { readonly fixture: LedgerFixture } | { readonly sample: NodeSample }

export interface NodeSample extends LedgerSample {
  /** Processor time of all threads. */
  readonly cpuMs: number
}

async function serve(dataDir: string, url: string, existing: LedgerFixture | null): Promise<void> {
  const core = await openCore(readConfig({ DATA_DIR: dataDir, DATABASE_URL: url }), noopCoreListener)
  const fixture = existing ?? (await createLedgerFixture(core))
  const load = openLoad(core, fixture)
  const send = (message: NodeMessage): void => void process.send?.(message)
  process.on('message', (request: LedgerLoadRequest) => {
    const used = process.cpuUsage()
    void load.measure(request).then((sample) => {
      const { user, system } = process.cpuUsage(used)
      send({ sample: { ...sample, cpuMs: (user + system) / 1000 } })
    })
  })
  send({ fixture })
  await once(process, 'disconnect')
  await load.close()
  // Nodes stop in reverse order, so the first one is the last to verify.
  const isSound = existing !== null || (await core.verifyLedger()).ok
  await core.close()
  process.exit(isSound ? 0 : 1)
}

const [, started, dataDir, url, existing] = process.argv
if (started === nodeProgram && dataDir !== undefined && url !== undefined)
  await serve(dataDir, url, existing === undefined ? null : (JSON.parse(existing) as LedgerFixture))
