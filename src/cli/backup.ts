/** `sluice backup`: a copy of everything that a relay has to remember, proven before it is called a backup. */

import type { Command } from 'commander'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { readConfig } from '../config.ts'
import { openReadOnly } from '../db/read-only.ts'
import { version } from '../server/version.ts'
import {
  checkDatabase,
  databaseFile,
  fileIn,
  keyFile,
  syncPath,
  writeManifest,
  type Manifest,
  elsewhere,
} from './backup-folder.ts'
import { finished, progressOption } from './options.ts'
import { CommandError, printResult, withProgress, type Format, type Progress } from './output.ts'

async function copyDatabase(from: string, to: string, tell: (step: string) => void): Promise<void> {
  const still = openReadOnly(from)
  try {
    await still.copyTo(to, ({ totalPages, remainingPages }) => {
      tell(`copying the database: ${Math.floor(100 - (100 * remainingPages) / Math.max(1, totalPages))} %,`)
    })
  } finally {
    still.close()
  }
  syncPath(to)
}

async function fill(folder: string, dataDir: string, tell: (step: string) => void): Promise<Manifest> {
  await copyDatabase(join(dataDir, databaseFile), join(folder, databaseFile), tell)
  const names = [databaseFile]
  const key = join(dataDir, keyFile)
  if (existsSync(key)) {
    copyFileSync(key, join(folder, keyFile))
    syncPath(join(folder, keyFile))
    names.push(keyFile)
  }
  tell('reading the copy and recomputing its ledger')
  const report = await checkDatabase(join(folder, databaseFile))
  const files = await Promise.all(names.map((name) => fileIn(folder, name)))
  return writeManifest(folder, {
    made_at: new Date().toISOString(),
    version,
    ...report,
    sealed_by: names.includes(keyFile) ? 'key file' : 'ENCRYPTION_KEY',
    files,
  })
}

/** Fills a folder of another name first, so that one of this name is always a whole backup. */
async function backUp(dataDir: string, target: string, tell: (step: string) => void): Promise<Manifest> {
  mkdirSync(dirname(target), { recursive: true })
  const folder = mkdtempSync(`${target}.part-`)
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      remove()
      process.exit(130)
    })
  }
  try {
    const filled = await fill(folder, dataDir, tell)
    syncPath(folder)
    renameSync(folder, target)
    syncPath(dirname(target))
    return filled
  } catch (error) {
    remove()
    throw error
  }
}

function mebibytes(backup: Manifest): string {
  const bytes = backup.files.reduce((sum, file) => sum + file.bytes, 0)
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`
}

async function run(name: string, options: Format & Progress): Promise<void> {
  const { dataDir, databaseUrl } = readConfig()
  if (databaseUrl !== null) throw new CommandError(elsewhere)
  const target = resolve(name)
  if (existsSync(target)) throw new CommandError(`${name} is there already. Choose another name.`)
  let step = 'copying the database'
  const made = await withProgress(
    options,
    () => step,
    () => backUp(dataDir, target, (next) => (step = next)),
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
