/** The thread that makes or checks one backup, independently of the main thread, the workers and the writer. */
import { parentPort } from 'node:worker_threads'
import type { Config } from '../config.ts'
import { Channel } from '../rpc/channel.ts'
import type { BackupStep } from '../db/backups.ts'
import { checkBackupFolder } from './backup-folder.ts'
import { copierFor, makeBackup } from './make-backup.ts'

export interface BackupTask {
  readonly config: Config
  /** The folder of the backup. */
  readonly folder: string
  /** null: the backup is checked. */
  readonly making: { readonly draft: string; readonly by: string } | null
}

/** What the thread offers. */
export interface BackupThreadServices {
  readonly backups: { run(task: BackupTask): Promise<unknown> }
}

/** What the main thread offers to the thread. */
export interface BackupProgress {
  readonly progress: { onStep(step: BackupStep): void }
}

/** Progress is reported no faster than a person can read it. */
const reportEveryMs = 100

function throttled(onStep: (step: BackupStep) => void): (step: BackupStep) => void {
  let reportedAt = 0
  let reported = ''
  return (step) => {
    const now = performance.now()
    if (step.doing === reported && now - reportedAt < reportEveryMs) return
    reported = step.doing
    reportedAt = now
    onStep(step)
  }
}

if (parentPort !== null) {
  const channel = new Channel<BackupProgress>(parentPort)
  const onStep = throttled((step) => channel.send('progress', 'onStep', step))
  const backups: BackupThreadServices['backups'] = {
    run: ({ config, folder, making }) =>
      making === null
        ? checkBackupFolder(folder, onStep)
        : makeBackup(folder, making.draft, { copy: copierFor(config), by: making.by, onStep }),
  }
  channel.serve({ services: { backups } })
}
