/**
 * A node of the cluster that is measured, without HTTP and without an upstream: a process of its own, whose one worker
 * holds and settles over the same line to the authority as a relay's.
 *
 *   node bench/cluster-node.ts <data directory> <database> <furnished as JSON, or nothing>
 */
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { readConfig } from '../src/config.ts'
import { nobody } from '../src/server/core.ts'
import { openCore } from '../src/server/ledger/open-core.ts'
import { furnish, openLoad, type Furnished } from './ledger.ts'
import type { LedgerAsk, LedgerSample } from './ledger-load.ts'

export const nodeProgram: string = fileURLToPath(import.meta.url)

/** What the node says: first that it is ready, then what it has measured, as often as it is asked. */
export type NodeWord = { readonly furnished: Furnished } | { readonly sample: NodeSample }

export interface NodeSample extends LedgerSample {
  /** Processor time of all threads. */
  readonly cpuMs: number
}

async function serve(dataDir: string, url: string, known: Furnished | null): Promise<void> {
  const core = await openCore(readConfig({ DATA_DIR: dataDir, DATABASE_URL: url }), nobody)
  const furnished = known ?? (await furnish(core))
  const load = openLoad(core, furnished)
  const tell = (word: NodeWord): void => void process.send?.(word)
  process.on('message', (ask: LedgerAsk) => {
    const used = process.cpuUsage()
    void load.measure(ask).then((sample) => {
      const { user, system } = process.cpuUsage(used)
      tell({ sample: { ...sample, cpuMs: (user + system) / 1000 } })
    })
  })
  tell({ furnished })
  await once(process, 'disconnect')
  await load.close()
  // The node that came first is asked last.
  const isSound = known !== null || (await core.verify()).ok
  await core.close()
  process.exit(isSound ? 0 : 1)
}

const [, started, dataDir, url, known] = process.argv
if (started === nodeProgram && dataDir !== undefined && url !== undefined)
  await serve(dataDir, url, known === undefined ? null : (JSON.parse(known) as Furnished))
