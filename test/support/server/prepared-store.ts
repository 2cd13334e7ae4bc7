/** A migrated store, which a new data directory begins with: running all migrations costs much of a start. */
import { constants, copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { databaseFileName, openStore } from '../../../src/db/sqlite/store.ts'

/** Set by test/run.ts: a folder that all files of a run share. */
const runFolder = process.env['TEST_USAGE_DIR']

async function createStore(folder: string): Promise<void> {
  const store = await openStore({ dataDir: folder })
  await store.close()
}

/** The path of a migrated database, created once per run, or once per process without a run. */
async function prepare(): Promise<string> {
  const folder = runFolder === undefined ? null : join(runFolder, 'prepared-store')
  if (folder !== null && existsSync(folder)) return join(folder, databaseFileName)
  const created = mkdtempSync(join(runFolder ?? tmpdir(), 'sluice-prepared-'))
  await createStore(created)
  if (folder === null) {
    process.once('exit', () => rmSync(created, { recursive: true, force: true }))
    return join(created, databaseFileName)
  }
  try {
    renameSync(created, folder)
  } catch {
    // Another file of the run was faster.
    rmSync(created, { recursive: true, force: true })
  }
  return join(folder, databaseFileName)
}

let prepared: Promise<string> | undefined

/** Puts a migrated database into a data directory that has none. */
export async function copyPreparedStore(dataDir: string): Promise<void> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  copyFileSync(await (prepared ??= prepare()), join(dataDir, databaseFileName), constants.COPYFILE_FICLONE)
}
