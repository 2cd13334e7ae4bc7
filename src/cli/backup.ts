/** `sluice backup`: a copy of everything that a relay has to remember, proven before it is called a backup. */

import type { Command } from 'commander'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { readConfig } from '../config.ts'
import { wordsOfStep, type Manifest, type Step } from '../server/backup/backup-folder.ts'
import { copyOf, draftOf, makeBackup, removeDraft } from '../server/backup/make-backup.ts'
import { checkCluster } from './admin-client.ts'
import { finished, progressOption } from './options.ts'
import { CommandError, printResult, withProgress, type Format, type Progress } from './output.ts'

/** Whoever ends the command leaves no half of a backup behind. */
function removedAtSignal(draft: string): string {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      removeDraft(draft)
      process.exit(130)
    })
  }
  return draft
}

function mebibytes(backup: Manifest): string {
  const bytes = backup.files.reduce((sum, file) => sum + file.bytes, 0)
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`
}

async function run(name: string, options: Format & Progress): Promise<void> {
  const config = readConfig()
  const target = resolve(name)
  if (existsSync(target)) throw new CommandError(`${name} is there already. Choose another name.`)
  await checkCluster(config)
  let step: Step = { doing: 'copying', percent: null }
  const made = await withProgress(
    options,
    () => wordsOfStep(step),
    () =>
      makeBackup(target, removedAtSignal(draftOf(target)), {
        copy: copyOf(config),
        by: 'command-line',
        tell: (next) => (step = next),
      }),
  )
  printResult({ path: target, ...made }, options, () => {
    const keptApart =
      made.sealed_by === 'key file'
        ? ''
        : '\nThe ENCRYPTION_KEY is not part of it: keep it with your backups.'
    const told = `${made.accounts} accounts, ${made.entries} ledger entries, ${mebibytes(made)}, read back and proven.`
    return `${target} is written: ${told}${keptApart}`
  })
}

export function completeBackup(command: Command): void {
  finished(
    command.argument('<folder>', 'where to; made by this command'),
    'backup /var/backups/sluice-2026-11-21',
  )
    .option(...progressOption)
    .addHelpText(
      'after',
      '\nWorks while the relay runs and while it does not. The folder holds what opens the credentials in it:\n' +
        'keep it as safe as DATA_DIR itself.',
    )
    .action(run)
}
