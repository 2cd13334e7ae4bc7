/** The thread that makes or checks one backup, independently of the main thread, the workers and the writer. */
import { parentPort, workerData } from 'node:worker_threads'
import type { Config } from '../config.ts'
import { checkBackupFolder, type OnStep } from './backup-folder.ts'
import { copierFor, makeBackup } from './make-backup.ts'

export interface BackupTask {
  readonly config: Config
  /** The folder of the backup. */
  readonly folder: string
  /** null: the backup is checked. */
  readonly making: { readonly draft: string; readonly by: string } | null
}

/** Progress is reported no faster than a person can read it. */
const reportEveryMs = 100

function throttledReporter(): OnStep {
  let reportedAt = 0
  let reported = ''
  return (step) => {
    const now = performance.now()
    if (step.doing === reported && now - reportedAt < reportEveryMs) return
    reported = step.doing
    reportedAt = now
    parentPort?.postMessage(step)
  }
}

async function run({ config, folder, making }: BackupTask): Promise<void> {
  const onStep = throttledReporter()
  if (making === null) await checkBackupFolder(folder, onStep)
  else {
    const { draft, by } = making
    await makeBackup(folder, draft, { copy: copierFor(config), by, onStep })
  }
}

await run(workerData as BackupTask)
