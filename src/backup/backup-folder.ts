/**
 * A backup as a folder: the database as one file, the key file that encrypts upstream credentials, and a manifest with the
 * hashes of both. Commands and the admin API check it the same way after it is written and before it is restored.
 */

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { BackupStep } from '../db/backups.ts'
import { findOpeningSecret, type Secret, type SecretSources } from '../db/data-keys.ts'
import { openReadOnly } from '../db/sqlite/read-only.ts'
import {
  BackupError,
  databaseFile,
  keyFile,
  manifestFile,
  readManifest,
  type BackupFile,
  type BackupManifest,
} from './backup-manifest.ts'
import { checkDatabase } from '../engine/verification/sqlite-source.ts'

export type OnStep = (step: BackupStep) => void

const stepDescriptions: Readonly<Record<BackupStep['doing'], string>> = {
  copying: 'copying the database',
  comparing: 'comparing the files with the manifest',
  recomputing: 'reading the database and recomputing its ledger',
}

/** A description that can be followed by a number of seconds. */
export function describeStep({ doing, percent }: BackupStep): string {
  return percent === null ? stepDescriptions[doing] : `${stepDescriptions[doing]}: ${percent} %,`
}

export async function hashFile(folder: string, name: string): Promise<BackupFile> {
  const hash = createHash('sha256')
  let bytes = 0
  await pipeline(createReadStream(join(folder, name)), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      hash.update(chunk)
      bytes += chunk.length
    }
  })
  return { name, bytes, sha256: hash.digest('hex') }
}

/** Downloads do not include the key; it is the same in all backups between two rotations. */
function missingKeyHint({ name }: BackupFile): string {
  if (name !== keyFile) return ''
  return ' Downloads do not include it: copy it from the DATA_DIR, or from another backup of it, next to the database.'
}

async function checkFiles(folder: string, manifest: BackupManifest): Promise<void> {
  const names = manifest.files.map(({ name }) => name)
  if (!names.includes(databaseFile) || names.some((name) => ![databaseFile, keyFile].includes(name))) {
    throw new BackupError(`${folder} is not a backup: its ${manifestFile} lists unexpected files.`)
  }
  for (const expected of manifest.files) {
    const found = await hashFile(folder, expected.name).catch(() => null)
    if (found === null)
      throw new BackupError(`${folder} is damaged: ${expected.name} is missing.${missingKeyHint(expected)}`)
    if (found.sha256 === expected.sha256) continue
    throw new BackupError(`${folder} is damaged: ${expected.name} does not match the manifest.`)
  }
}

/** Which key opens the credentials; null: none was tried. Throws a BackupError if ENCRYPTION_KEY does not open them. */
export async function checkEncryptionKey(
  folder: string,
  { encryptionKey, encryptionKeyPrevious }: Pick<SecretSources, 'encryptionKey' | 'encryptionKeyPrevious'>,
): Promise<Secret['name'] | null> {
  using reader = openReadOnly(join(folder, databaseFile))
  const sources = { dataDir: folder, databaseUrl: null, encryptionKey, encryptionKeyPrevious }
  const opening = await findOpeningSecret(reader.db, sources)
  // Without ENCRYPTION_KEY, the folder's key file may be one that the relay no longer used.
  if (opening !== undefined || encryptionKey === null) return opening ?? null
  const advice =
    encryptionKeyPrevious === null
      ? 'Set ENCRYPTION_KEY to the value that the relay had when the backup was made or, if the key was rotated since then, set ENCRYPTION_KEY_PREVIOUS to it.'
      : 'ENCRYPTION_KEY_PREVIOUS does not either: set it to the value of ENCRYPTION_KEY when the backup was made.'
  throw new BackupError(`ENCRYPTION_KEY does not decrypt the credentials in ${folder}. ${advice}`)
}

/** Checks a whole backup: hashes, database and ledger. Throws a BackupError that says what is wrong. */
export async function checkBackupFolder(folder: string, onStep: OnStep): Promise<BackupManifest> {
  const manifest = readManifest(folder)
  onStep({ doing: 'comparing', percent: null })
  await checkFiles(folder, manifest)
  onStep({ doing: 'recomputing', percent: null })
  const report = await checkDatabase(join(folder, databaseFile))
  if (report.last_commit !== manifest.last_commit || report.entries !== manifest.entries) {
    throw new BackupError(`${folder} is damaged: its ledger does not match the manifest.`)
  }
  return manifest
}
