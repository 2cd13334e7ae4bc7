/** The thread on which one backup is made or checked: beside the authority, the workers and the writer. */
import { parentPort, workerData } from 'node:worker_threads'
import type { Config } from '../../config.ts'
import { checkFolder, type Tell } from './backup-folder.ts'
import { copyOf, makeBackup } from './make-backup.ts'

export interface Work {
  readonly config: Config
  /** Where the backup lies, or will. */
  readonly folder: string
  /** null: it is checked. */
  readonly making: { readonly draft: string; readonly by: string } | null
}

/** Told in numbers a person can follow. */
const toldEveryMs = 100

function teller(): Tell {
  let toldAt = 0
  let told = ''
  return (step) => {
    const now = performance.now()
    if (step.doing === told && now - toldAt < toldEveryMs) return
    told = step.doing
    toldAt = now
    parentPort?.postMessage(step)
  }
}

async function carryOut({ config, folder, making }: Work): Promise<void> {
  const tell = teller()
  if (making === null) await checkFolder(folder, tell)
  else {
    const { draft, by } = making
    await makeBackup(folder, draft, { copy: copyOf(config), by, tell })
  }
}

await carryOut(workerData as Work)
