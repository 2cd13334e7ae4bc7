/** `sluice restore`: a backup, proven once more, in the place of a data directory or in an empty PostgreSQL. */

import type { Command } from 'commander'
import { readConfig } from '../../config.ts'
import { checkFolder, wordsOfStep, type Manifest, type Step } from '../../server/backup/backup-folder.ts'
import { putInPlace, putInPostgres, type Restored } from '../../server/backup/restore-backup.ts'
import { finished, progressOption } from '../options.ts'
import { CommandError, printResult, withProgress, type Format, type Progress } from '../output.ts'

interface RestoreOptions extends Format, Progress {
  readonly force?: boolean
  readonly check?: boolean
}

function wordsOf(backup: Manifest, where: string, restored: Restored): string {
  const lines = [
    `${where} is as it was at ${backup.made_at}: ${backup.accounts} accounts, ${backup.entries} ledger entries.`,
  ]
  if (restored.moved_aside !== null) lines.push(`What was there before is in ${restored.moved_aside}.`)
  if (backup.sealed_by === 'ENCRYPTION_KEY') lines.push('Start it with the ENCRYPTION_KEY that it had.')
  return lines.join('\n')
}

async function restore(folder: string, options: RestoreOptions): Promise<void> {
  const config = readConfig()
  const { dataDir, databaseUrl: url } = config
  if (url !== null && options.force === true)
    throw new CommandError(
      'With DATABASE_URL nothing is moved aside: a backup goes into an empty database. Leave --force out.',
    )
  let step: Step = { doing: 'comparing', percent: null }
  const backup = await withProgress(
    options,
    () => wordsOfStep(step),
    () => checkFolder(folder, (next) => (step = next)),
  )
  if (options.check === true) {
    printResult({ ok: true, ...backup }, options, () => `${folder} is whole, and its ledger holds.`)
    return
  }
  if (url !== null) {
    let words = 'opening the database'
    await withProgress(
      options,
      () => words,
      () => putInPostgres(folder, { config, url }, backup, (next) => (words = next)),
    )
    return printResult({ restored_to: 'postgres', ...backup }, options, () =>
      wordsOf(backup, 'The database', { moved_aside: null }),
    )
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
    .addHelpText(
      'after',
      '\nThe backup is checked before anything is changed. No relay may run on DATA_DIR. With DATABASE_URL it goes into that\n' +
        'database, which has to be empty, whichever kind of store it was made of.',
    )
    .action(restore)
}
