/**
 * A backup as a folder: the database as one file, the key file under which upstreams' credentials are sealed, and a
 * manifest that names both by their hashes. Checked the same way after it was written and before it is put in place,
 * for whoever asks: a command or the administration.
 */

import { createHash } from 'node:crypto'
import { closeSync, createReadStream, fsyncSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { checkBackup } from '../../db/sqlite/backup-file.ts'
import { openReadOnly } from '../../db/sqlite/read-only.ts'
import { verifyLedger } from '../verification/verify-ledger.ts'

/** A backup cannot be made, or is none that can be put in place: these words say why. */
export class BackupError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'BackupError'
  }
}

/** What is being done to a backup; `percent` where it is known. */
export interface Step {
  readonly doing: 'copying' | 'comparing' | 'recomputing'
  readonly percent: number | null
}

export type Tell = (step: Step) => void

const stepWords: Readonly<Record<Step['doing'], string>> = {
  copying: 'copying the database',
  comparing: 'comparing the files with the manifest',
  recomputing: 'reading the database and recomputing its ledger',
}

/** In words that a number of seconds may follow. */
export function wordsOfStep({ doing, percent }: Step): string {
  return percent === null ? stepWords[doing] : `${stepWords[doing]}: ${percent} %,`
}

export const databaseFile = 'sluice.db'
export const keyFile = 'sealing.key'
export const manifestFile = 'manifest.json'
const format = 1

export interface BackedUpFile {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

export interface Manifest {
  readonly format: number
  /** RFC 3339. */
  readonly made_at: string
  /** Who had it made, as the audit log names it; not told by backups of old. */
  readonly made_by?: string
  /** Of the release that made it. */
  readonly version: string
  readonly schema_version: number
  /** The number of the last ledger commit in it. */
  readonly last_commit: number
  readonly accounts: number
  readonly entries: number
  /** What opens the credentials in it: the key file beside the database, or the ENCRYPTION_KEY, which is not in it. */
  readonly sealed_by: 'key file' | 'ENCRYPTION_KEY'
  readonly files: readonly BackedUpFile[]
}

export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

export async function fileIn(folder: string, name: string): Promise<BackedUpFile> {
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

export function writeManifest(folder: string, manifest: Omit<Manifest, 'format'>): Manifest {
  const whole = { format, ...manifest }
  const path = join(folder, manifestFile)
  writeFileSync(path, `${JSON.stringify(whole, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  syncPath(path)
  return whole
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
}

function isManifest(value: unknown): value is Manifest {
  const { files, ...fields } = fieldsOf(value)
  const areFiles = Array.isArray(files) && files.every((file) => typeof fieldsOf(file)['sha256'] === 'string')
  const isNumeric = ['format', 'schema_version', 'last_commit', 'entries'].every(
    (name) => typeof fields[name] === 'number',
  )
  return areFiles && isNumeric
}

export function readManifest(folder: string): Manifest {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(join(folder, manifestFile), 'utf8'))
  } catch {
    throw new BackupError(`${folder} is no backup: it has no ${manifestFile} that can be read.`)
  }
  if (!isManifest(value))
    throw new BackupError(`${folder} is no backup: its ${manifestFile} is not one of ours.`)
  if (value.format !== format) {
    throw new BackupError(
      `${folder} has format ${value.format}, made by a newer release; this one knows ${format}.`,
    )
  }
  return value
}

/** Downloads leave the key out; it is the same in all backups of one relay. */
function missingKey({ name }: BackedUpFile): string {
  if (name !== keyFile) return ''
  return ' A download does not have it: put that of the DATA_DIR, or of another of its backups, beside the database.'
}

async function checkFiles(folder: string, manifest: Manifest): Promise<void> {
  const names = manifest.files.map(({ name }) => name)
  if (!names.includes(databaseFile) || names.some((name) => ![databaseFile, keyFile].includes(name))) {
    throw new BackupError(`${folder} is no backup: its ${manifestFile} names other files than a backup has.`)
  }
  for (const expected of manifest.files) {
    const found = await fileIn(folder, expected.name).catch(() => null)
    if (found === null)
      throw new BackupError(`${folder} is damaged: ${expected.name} is missing.${missingKey(expected)}`)
    if (found.sha256 === expected.sha256) continue
    throw new BackupError(`${folder} is damaged: ${expected.name} is not what the manifest says.`)
  }
}

export interface DatabaseReport {
  readonly schema_version: number
  readonly last_commit: number
  readonly accounts: number
  readonly entries: number
}

/** Reads a database file through: sound, ours, known to this release, and its ledger holds. */
export async function checkDatabase(path: string): Promise<DatabaseReport> {
  const report = checkBackup(path)
  const still = openReadOnly(path)
  try {
    const verdict = await verifyLedger(still.db)
    if (!verdict.ok)
      throw new BackupError(`The ledger in ${path} does not hold: ${verdict.findings.join('; ')}.`)
    return {
      schema_version: report.schemaVersion,
      last_commit: report.lastSeq,
      accounts: report.accounts,
      entries: verdict.entries,
    }
  } finally {
    still.close()
  }
}

/** Reads a backup through: hashes, database, ledger. Throws BackupError saying what is wrong with it. */
export async function checkFolder(folder: string, tell: Tell): Promise<Manifest> {
  const manifest = readManifest(folder)
  tell({ doing: 'comparing', percent: null })
  await checkFiles(folder, manifest)
  tell({ doing: 'recomputing', percent: null })
  const report = await checkDatabase(join(folder, databaseFile))
  if (report.last_commit !== manifest.last_commit || report.entries !== manifest.entries) {
    throw new BackupError(`${folder} is damaged: its ledger is not the one that the manifest tells of.`)
  }
  return manifest
}
