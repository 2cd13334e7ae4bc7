/** `sluice restore`: verifies a backup and restores it to a data directory or an empty PostgreSQL database. */

import type { Command } from 'commander'
import { readConfig } from '../../config.ts'
import { checkBackupFolder, checkEncryptionKey, describeStep } from '../../backup/backup-folder.ts'
import type { BackupManifest } from '../../backup/backup-manifest.ts'
import { restoreToDataDir, restoreToPostgres, type RestoreResult } from '../../backup/restore-backup.ts'
import { withJsonOption, progressOption } from '../options.ts'
import { CommandError, printResult, withProgress, type ProgressOptions } from '../output.ts'

interface RestoreOptions extends ProgressOptions {
  readonly force?: boolean
  readonly check?: boolean
}

function formatRestored(backup: BackupManifest, where: string, restored: RestoreResult): string {
  const lines = [
    `Restored ${where} to ${backup.made_at}: ${backup.accounts} accounts, ${backup.entries} ledger entries.`,
  ]
  if (restored.moved_aside !== null) lines.push(`The previous data is in ${restored.moved_aside}.`)
  if (backup.sealed_by === 'ENCRYPTION_KEY')
    lines.push('Start the relay with the ENCRYPTION_KEY that it had when the backup was made.')
  return lines.join('\n')
}

function describeKey(key: Awaited<ReturnType<typeof checkEncryptionKey>>): string {
  if (key === null)
    return 'Its credentials were not checked: set ENCRYPTION_KEY to the value that the relay had.'
  return `${key.startsWith('ENCRYPTION_KEY') ? key : 'Its own key file'} opens its credentials.`
}

async function restore(folder: string, options: RestoreOptions): Promise<void> {
  const config = readConfig()
  const { dataDir, databaseUrl: url } = config
  if (url !== null && options.force === true)
    throw new CommandError(
      '--force does not apply with DATABASE_URL: a backup can only be restored to an empty database.',
    )
  const firstStep = describeStep({ doing: 'comparing', percent: null })
  const backup = await withProgress(options, firstStep, (report) =>
    checkBackupFolder(folder, (step) => report(describeStep(step))),
  )
  const key = await checkEncryptionKey(folder, config)
  if (options.check === true) {
    const text = `${folder} is intact, and its ledger is consistent. ${describeKey(key)}`
    printResult({ ok: true, ...backup }, options, () => text)
    return
  }
  if (url !== null) {
    await withProgress(options, 'opening the database', (report) =>
      restoreToPostgres(folder, { config, url }, backup, report),
    )
    return printResult({ restored_to: 'postgres', ...backup }, options, () =>
      formatRestored(backup, 'the database', { moved_aside: null }),
    )
  }
  const restored = restoreToDataDir(folder, dataDir, backup, options.force === true)
  printResult({ data_dir: dataDir, ...restored, ...backup }, options, () =>
    formatRestored(backup, dataDir, restored),
  )
}

export function configure(command: Command): void {
  withJsonOption(
    command.argument('<folder>', 'the backup'),
    'restore /var/backups/sluice-2026-11-21',
    'restore --check /var/backups/sluice-2026-11-21',
  )
    .option('--check', 'only read the backup and verify its ledger')
    .option('--force', 'move the contents of DATA_DIR aside')
    .option(...progressOption)
    .addHelpText(
      'after',
      '\nThe backup, and ENCRYPTION_KEY if it is set, are verified before anything is changed. No relay may be running on\n' +
        'DATA_DIR. With DATABASE_URL it is restored to that database, which must be empty. A backup of either kind of store\n' +
        'can be restored to both.',
    )
    .action(restore)
}
