/**
 * The key file of a data directory: the secret that wraps the data keys of a relay without ENCRYPTION_KEY. A rotation
 * writes the next one under another name first; the replaced file is kept, because earlier backups may need it.
 */

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateDataKey, SealError } from './encryption.ts'
import { errorCode } from './error-message.ts'
import { syncPath } from './sync-path.ts'

export const keyFileName = 'sealing.key'
/** The key of an unfinished rotation. */
export const nextKeyFileName = 'sealing.key.next'

/** Reads a key file of the data directory; undefined if it does not exist. Throws SealError if it is empty. */
export function readKeyFile(dataDir: string, name = keyFileName): string | undefined {
  const path = join(dataDir, name)
  let secret
  try {
    secret = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
  if (secret === '') throw new SealError(`${path} is empty: restore it from your backup.`)
  return secret
}

/**
 * Creates a key file, readable only by its owner, and never replaces an existing one. The file appears atomically and
 * is synced before anything is sealed with it, so an interruption cannot lose credentials.
 */
export function createKeyFile(dataDir: string, name = keyFileName): string {
  const secret = Buffer.from(generateDataKey()).toString('base64url')
  const path = join(dataDir, name)
  if (existsSync(path)) throw new SealError(`${path} already exists.`)
  const draft = `${path}.new`
  rmSync(draft, { force: true })
  writeFileSync(draft, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
  renameSync(draft, path)
  syncPath(dataDir)
  return secret
}

/** Keeps the key file, if there is one, as `sealing.key.until-<time>`. */
function setAside(dataDir: string, now: Date): void {
  const path = join(dataDir, keyFileName)
  if (existsSync(path)) renameSync(path, `${path}.until-${now.toISOString().replaceAll(':', '-')}`)
}

/** After a rotation to the next key file: puts it in the place of the current one. Interrupted, it can be repeated. */
export function replaceKeyFile(dataDir: string, now: Date): void {
  const next = join(dataDir, nextKeyFileName)
  if (!existsSync(next)) return
  setAside(dataDir, now)
  renameSync(next, join(dataDir, keyFileName))
  syncPath(dataDir)
}

/** After a rotation to ENCRYPTION_KEY: there is no key file any more. */
export function retireKeyFiles(dataDir: string, now: Date): void {
  setAside(dataDir, now)
  rmSync(join(dataDir, nextKeyFileName), { force: true })
  syncPath(dataDir)
}
