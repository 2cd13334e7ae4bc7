/** The data folder of a stopped PostgreSQL server with a migrated template, kept between test runs. */

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { migrations } from '../migrations/migrations.ts'
import { toPostgresDdl } from './sql-text.ts'

const cache = join(import.meta.dirname, '../../../node_modules/.cache/sluice-tests')

/** Copies a folder with its owner, whom PostgreSQL checks. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
}

/** Moves a copy of `folder` to `prepared`, unless another process was faster; removes what other keys left. */
async function keep(folder: string, prepared: string): Promise<void> {
  const copy = await mkdtemp(join(cache, 'incomplete-'))
  try {
    await copyFolder(folder, join(copy, 'data'))
    await rename(join(copy, 'data'), prepared)
  } catch (error) {
    // A folder that is not empty is not replaced.
    if (!existsSync(prepared)) throw error
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
  const others = (await readdir(cache)).filter(
    (name) => name.startsWith('postgres-') && !prepared.endsWith(name),
  )
  await Promise.all(others.map((name) => rm(join(cache, name), { recursive: true, force: true })))
}

/**
 * Returns the data folder for these programs and the current schema. Processes that find none each `prepare` one, and
 * use the first that is complete: none waits for another, which may fail or be killed.
 */
export async function preparedDataFolder(
  bin: string,
  prepare: (keepFolder: (folder: string) => Promise<void>) => Promise<void>,
): Promise<string> {
  const ddl = migrations.map((each) => each.postgres ?? toPostgresDdl(each.ddl))
  const key = createHash('sha256')
    .update(JSON.stringify([bin, process.getuid?.(), ddl]))
    .digest('hex')
  const prepared = join(cache, `postgres-${key.slice(0, 16)}`)
  if (existsSync(prepared)) return prepared
  await mkdir(cache, { recursive: true })
  await prepare((folder) => keep(folder, prepared))
  return prepared
}
