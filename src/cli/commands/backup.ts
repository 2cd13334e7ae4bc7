/** `sluice backup`: copies all data of a relay and verifies the copy. */

import type { Command } from 'commander'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { readConfig } from '../../config.ts'
import { describeStep } from '../../backup/backup-folder.ts'
import type { BackupManifest } from '../../backup/backup-manifest.ts'
import { createDraft, removeDraft } from '../../backup/draft.ts'
import { copierFor, makeBackup } from '../../backup/make-backup.ts'
import { checkCluster } from '../admin-client.ts'
import { withJsonOption, progressOption } from '../options.ts'
import { CommandError, printResult, withProgress, type ProgressOptions } from '../output.ts'

/** Removes the unfinished backup if the command is interrupted. */
function removeDraftOnSignal(draft: string): string {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      removeDraft(draft)
      process.exit(130)
    })
  }
  return draft
}

function formatSize(backup: BackupManifest): string {
  const bytes = backup.files.reduce((sum, file) => sum + file.bytes, 0)
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`
}

async function run(name: string, options: ProgressOptions): Promise<void> {
  const config = readConfig()
  const target = resolve(name)
  if (existsSync(target)) throw new CommandError(`${name} already exists. Choose another name.`)
  await checkCluster(config)
  const firstStep = describeStep({ doing: 'copying', percent: null })
  const result = await withProgress(options, firstStep, (report) =>
    makeBackup(target, removeDraftOnSignal(createDraft(target)), {
      copy: copierFor(config),
      by: 'command-line',
      onStep: (step) => report(describeStep(step)),
    }),
  )
  printResult({ path: target, ...result }, options, () => {
    const keyNote =
      result.sealed_by === 'key file'
        ? ''
        : '\nIt does not contain the ENCRYPTION_KEY: keep that with your backups.'
    const summary = `${result.accounts} accounts, ${result.entries} ledger entries, ${formatSize(result)}, read back and verified.`
    return `Backed up to ${target}: ${summary}${keyNote}`
  })
}

export function configure(command: Command): void {
  withJsonOption(
    command.argument('<folder>', 'the new folder; must not exist'),
    'backup /var/backups/sluice-2026-11-21',
  )
    .option(...progressOption)
    .addHelpText(
      'after',
      '\nWorks whether or not the relay is running. The folder contains the key of the credentials in it:\n' +
        'protect it like DATA_DIR itself.',
    )
    .action(run)
}
