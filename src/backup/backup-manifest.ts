/** The manifest of a backup: what its folder contains, with hashes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keyFileName } from '../lib/key-file.ts'
import { syncPath } from '../lib/sync-path.ts'

/** A backup cannot be made or restored; the message says why. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

export const databaseFile = 'sluice.db'
export const keyFile = keyFileName
export const manifestFile = 'manifest.json'
const format = 1

export interface BackupFile {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

export interface BackupManifest {
  readonly format: number
  /** RFC 3339. */
  readonly made_at: string
  /** Who made it, as the audit log names the actor; absent in backups of old releases. */
  readonly made_by?: string
  /** The release that made it. */
  readonly version: string
  readonly schema_version: number
  /** The number of the last ledger commit in it. */
  readonly last_commit: number
  readonly accounts: number
  readonly entries: number
  /** What decrypts the credentials in it: the key file next to the database, or the ENCRYPTION_KEY, which it does not contain. */
  readonly sealed_by: 'key file' | 'ENCRYPTION_KEY'
  readonly files: readonly BackupFile[]
}

export function writeManifest(folder: string, manifest: Omit<BackupManifest, 'format'>): BackupManifest {
  const complete = { format, ...manifest }
  const path = join(folder, manifestFile)
  writeFileSync(path, `${JSON.stringify(complete, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  syncPath(path)
  return complete
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
}

function isManifest(value: unknown): value is BackupManifest {
  const { files, ...fields } = fieldsOf(value)
  const areFiles = Array.isArray(files) && files.every((file) => typeof fieldsOf(file)['sha256'] === 'string')
  const isNumeric = ['format', 'schema_version', 'last_commit', 'entries'].every(
    (name) => typeof fields[name] === 'number',
  )
  return areFiles && isNumeric
}

export function readManifest(folder: string): BackupManifest {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(join(folder, manifestFile), 'utf8'))
  } catch {
    throw new BackupError(`${folder} is not a backup: its ${manifestFile} is missing or unreadable.`)
  }
  if (!isManifest(value))
    throw new BackupError(`${folder} is not a backup: its ${manifestFile} has an unknown structure.`)
  if (value.format !== format) {
    throw new BackupError(
      `${folder} has format ${value.format} of a newer release; this release supports format ${format}.`,
    )
  }
  return value
}
