/** `sluice restore`: a backup, proven once more, in the place of a data directory. */

import type { Command } from 'commander'
import { copyFileSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../config.ts'
import { restoreBackup } from '../db/backup.ts'
import { holderFileName, lockFileName, takeLock } from '../server/lock.ts'
import { checkFolder, databaseFile, keyFile, syncPath, type Manifest, elsewhere } from './backup-folder.ts'
import { finished, progressOption } from './options.ts'
import { CommandError, printResult, withProgress, type Format, type Progress } from './output.ts'

interface RestoreOptions extends Format, Progress {
  readonly force?: boolean
  readonly check?: boolean
}

interface Restored {
  /** Where what was there before is now; null when there was nothing. */
  readonly moved_aside: string | null
}

/** What is in a data directory besides the lock, which is ours now, and what earlier restores moved aside. */
function contentOf(dataDir: string): string[] {
  const ours = [lockFileName, holderFileName, 'lost+found']
  return readdirSync(dataDir).filter((name) => !ours.includes(name) && !name.startsWith('before-'))
}

/** Into a folder inside the data directory: it may be a volume of its own, out of which nothing can be renamed. */
function moveAside(dataDir: string, names: readonly string[]): string {
  const folder = join(dataDir, `before-${new Date().toISOString().replaceAll(':', '-')}`)
  mkdirSync(folder, { mode: 0o700 })
  for (const name of names) renameSync(join(dataDir, name), join(folder, name))
  syncPath(folder)
  return folder
}

function putInPlace(folder: string, dataDir: string, backup: Manifest, force: boolean): Restored {
  const lock = takeLock(dataDir, { command: 'restore' })
  try {
    const content = contentOf(dataDir)
    if (content.length > 0 && !force) {
      throw new CommandError(
        `${dataDir} is not empty. --force moves what is there aside, to a folder inside it.`,
      )
    }
    const aside = content.length > 0 ? moveAside(dataDir, content) : null
    // The database comes last: a directory without it is one that was never used.
    if (backup.files.some(({ name }) => name === keyFile)) {
      copyFileSync(join(folder, keyFile), join(dataDir, keyFile))
      syncPath(join(dataDir, keyFile))
    }
    restoreBackup(join(folder, databaseFile), dataDir)
    return { moved_aside: aside }
  } finally {
    lock.release()
  }
}

function wordsOf(backup: Manifest, dataDir: string, restored: Restored): string {
  const lines = [
    `${dataDir} is as it was at ${backup.made_at}: ${backup.accounts} accounts, ${backup.entries} ledger entries.`,
  ]
  if (restored.moved_aside !== null) lines.push(`What was there before is in ${restored.moved_aside}.`)
  if (backup.sealed_by === 'ENCRYPTION_KEY') lines.push('Start it with the ENCRYPTION_KEY that it had.')
  return lines.join('\n')
}

async function restore(folder: string, options: RestoreOptions): Promise<void> {
  const { dataDir, databaseUrl } = readConfig()
  if (databaseUrl !== null) throw new CommandError(elsewhere)
  let step = 'reading the backup'
  const backup = await withProgress(
    options,
    () => step,
    () => checkFolder(folder, (next) => (step = next)),
  )
  if (options.check === true) {
    printResult({ ok: true, ...backup }, options, () => `${folder} is whole, and its ledger holds.`)
    return
  }
  const restored = putInPlace(folder, dataDir, backup, options.force === true)
  printResult({ data_dir: dataDir, ...restored, ...backup }, options, () =>
    wordsOf(backup, dataDir, restored),
  )
}

export function completeRestore(command: Command): void {
  finished(
    command.argument('<folder>', 'a backup'),
    'restore /var/backups/sluice-2026-11-21',
    'restore --check /var/backups/sluice-2026-11-21',
  )
    .option('--check', 'only read the backup through and recompute its ledger')
    .option('--force', 'move what is in DATA_DIR aside')
    .option(...progressOption)
    .addHelpText('after', '\nThe backup is checked before anything is changed. No relay may run on DATA_DIR.')
    .action(restore)
}
