/**
 * The data keys that encrypt upstream credentials and other secrets, stored wrapped under a secret: ENCRYPTION_KEY,
 * otherwise the key file of the data directory or, in a cluster, whose nodes share no folder, a setting in the same
 * database. While a rotation runs (data-key-rotation.ts), they are wrapped under both the old and the new secret.
 */

import type { Config } from '../config.ts'
import {
  createSealer,
  generateDataKey,
  SealError,
  unwrapDataKeys,
  wrapDataKeys,
  type DataKeys,
  type Sealer,
} from '../lib/encryption.ts'
import { createKeyFile, nextKeyFileName, readKeyFile, replaceKeyFile } from '../lib/key-file.ts'
import type { Db } from './db.ts'
import { sql } from './schema/schema.ts'
import { deleteSettingsStatement, insertSettingStatement, setSettingStatement } from './settings.ts'

/** The names of settings. */
export const dataKeyNames = {
  wrapped: 'data_key',
  /** Only during a rotation: the same keys, wrapped under the new secret. */
  nextWrapped: 'data_key_next',
  /** The state of the last rotation, as JSON. */
  rotation: 'data_key_rotation',
  /** The secret of a cluster without ENCRYPTION_KEY, and the one of an unfinished rotation. */
  sharedSecret: 'data_key_secret',
  nextSharedSecret: 'data_key_secret_next',
} as const

/** Where secrets come from. `databaseUrl`: null for a single relay, which may have a key file. */
export type SecretSources = Pick<
  Config,
  'dataDir' | 'databaseUrl' | 'encryptionKey' | 'encryptionKeyPrevious'
>

export interface Secret {
  /** What operators know it as. */
  readonly name:
    | 'ENCRYPTION_KEY'
    | 'ENCRYPTION_KEY_PREVIOUS'
    | 'the key file'
    | 'the new key file'
    | 'the key in the database'
    | 'the new key in the database'
  readonly text: string
}

/** `distributing`: all nodes learn the new data key; `resealing`: values are sealed under it again. */
export interface RotationState {
  readonly phase: 'distributing' | 'resealing' | 'finished'
  /** When it began or, once it is finished, ended; RFC 3339. */
  readonly at: string
}

/** The settings of `dataKeyNames` that exist, by name. */
export type DataKeyRows = ReadonlyMap<string, string>

export async function readDataKeyRows(db: Db): Promise<DataKeyRows> {
  const names = Object.values(dataKeyNames)
  const rows = await db.all(sql.selectFrom('settings').selectAll().where('name', 'in', names))
  return new Map(rows.map(({ name, value }) => [name, value]))
}

/** The state of the last rotation; null: there was none. */
export function rotationState(rows: DataKeyRows): RotationState | null {
  const text = rows.get(dataKeyNames.rotation)
  return text === undefined ? null : (JSON.parse(text) as RotationState)
}

export function isRotationUnfinished(rows: DataKeyRows): boolean {
  return (rotationState(rows)?.phase ?? 'finished') !== 'finished'
}

/** The secrets that may open the data keys, the preferred one first. */
export function listSecrets(rows: DataKeyRows, sources: SecretSources): Secret[] {
  const { encryptionKey, encryptionKeyPrevious, databaseUrl, dataDir } = sources
  const isAlone = databaseUrl === null
  const known: { name: Secret['name']; text: string | null | undefined }[] = [
    { name: 'ENCRYPTION_KEY', text: encryptionKey },
    { name: 'ENCRYPTION_KEY_PREVIOUS', text: encryptionKeyPrevious },
    { name: 'the key file', text: isAlone ? readKeyFile(dataDir) : null },
    { name: 'the new key file', text: isAlone ? readKeyFile(dataDir, nextKeyFileName) : null },
    { name: 'the key in the database', text: isAlone ? null : rows.get(dataKeyNames.sharedSecret) },
    { name: 'the new key in the database', text: isAlone ? null : rows.get(dataKeyNames.nextSharedSecret) },
  ]
  return known.flatMap(({ name, text }) => ((text ?? '') === '' ? [] : [{ name, text: text ?? '' }]))
}

/** Unwraps with the first secret that opens it; undefined if none does. */
export async function unwrapWithAny(
  wrapped: string | undefined,
  secrets: readonly Secret[],
): Promise<{ readonly bytes: Uint8Array; readonly secret: Secret } | undefined> {
  if (wrapped === undefined) return undefined
  for (const secret of secrets) {
    try {
      return { bytes: await unwrapDataKeys(wrapped, secret.text), secret }
    } catch (error) {
      if (!(error instanceof SealError)) throw error
    }
  }
  return undefined
}

export interface OpenedDataKeys extends DataKeys {
  /** The secret that opened them. */
  readonly secret: Secret
}

/** undefined: no secret opens them. */
export async function unwrapRows(
  rows: DataKeyRows,
  sources: SecretSources,
): Promise<OpenedDataKeys | undefined> {
  const secrets = listSecrets(rows, sources)
  const opened =
    (await unwrapWithAny(rows.get(dataKeyNames.wrapped), secrets)) ??
    (await unwrapWithAny(rows.get(dataKeyNames.nextWrapped), secrets))
  return opened && { ...opened, isNewestReadOnly: rotationState(rows)?.phase === 'distributing' }
}

function unopenedMessage(rows: DataKeyRows, sources: SecretSources): string {
  const names = listSecrets(rows, sources).map(({ name }) => name)
  if (names.length === 0)
    return 'ENCRYPTION_KEY is not set, or the key file in DATA_DIR is missing: the stored credentials cannot be decrypted.'
  const subject = names.length === 1 ? `${names[0]} does not` : `None of ${names.join(', ')}`
  const problem = `${subject} ${names.length === 1 ? 'decrypt' : 'decrypts'} the stored credentials.`
  const rotation = rotationState(rows)
  if (rotation?.phase === 'finished')
    return `${problem} The key was rotated at ${rotation.at}: set ENCRYPTION_KEY to the key since then.`
  if (rotation !== null)
    return `${problem} A rotation of the key began at ${rotation.at}: set ENCRYPTION_KEY to the new key and ENCRYPTION_KEY_PREVIOUS to the one before it.`
  return sources.encryptionKey === null || sources.encryptionKeyPrevious !== null
    ? problem
    : `${problem} If it is a new key, set ENCRYPTION_KEY_PREVIOUS to the one before it.`
}

/** Which of these secrets opens the data keys; `null` without a secret or a data key. Reads only. */
export async function findOpeningSecret(
  db: Db,
  sources: SecretSources,
): Promise<Secret['name'] | undefined | null> {
  const rows = await readDataKeyRows(db)
  if (!rows.has(dataKeyNames.wrapped) || listSecrets(rows, sources).length === 0) return null
  return (await unwrapRows(rows, sources))?.secret.name
}

/** Why a relay with these secrets would not start; `null`: they open the data keys, or there are none yet. */
export async function findKeyProblem(rows: DataKeyRows, sources: SecretSources): Promise<string | null> {
  try {
    if (!rows.has(dataKeyNames.wrapped) || (await unwrapRows(rows, sources)) !== undefined) return null
    return unopenedMessage(rows, sources)
  } catch (error) {
    // An empty key file.
    if (error instanceof SealError) return error.message
    throw error
  }
}

/** The content of the directory's key file if it opens the data keys: a relay that has an ENCRYPTION_KEY since may keep one. */
export async function findKeyFileSecret(db: Db, dataDir: string): Promise<string | undefined> {
  const keyFileOnly = { dataDir, databaseUrl: null, encryptionKey: null, encryptionKeyPrevious: null }
  const rows = await readDataKeyRows(db)
  return (await unwrapRows(rows, keyFileOnly))?.secret.text
}

/** Several nodes may create it at the same time: the first one wins. */
async function createDataKey(db: Db, sources: SecretSources): Promise<DataKeyRows> {
  if (sources.encryptionKey === null || sources.encryptionKey === '') {
    if (sources.databaseUrl !== null)
      await db.write(
        insertSettingStatement(
          dataKeyNames.sharedSecret,
          Buffer.from(generateDataKey()).toString('base64url'),
        ),
      )
    else if (readKeyFile(sources.dataDir) === undefined) createKeyFile(sources.dataDir)
  }
  const [secret] = listSecrets(await readDataKeyRows(db), { ...sources, encryptionKeyPrevious: null })
  if (secret === undefined) throw new SealError('There is no key to wrap the data key under.')
  await db.write(
    insertSettingStatement(dataKeyNames.wrapped, await wrapDataKeys(generateDataKey(), secret.text)),
  )
  return readDataKeyRows(db)
}

/** Wraps the keys under an ENCRYPTION_KEY that was set after they were created, or completes an interrupted rotation. */
async function adoptSecret(db: Db, opened: OpenedDataKeys, sources: SecretSources): Promise<void> {
  const { encryptionKey, databaseUrl, dataDir } = sources
  if (opened.secret.name === 'the new key file') return replaceKeyFile(dataDir, new Date())
  if ((encryptionKey ?? '') === '' || opened.secret.name.startsWith('ENCRYPTION_KEY')) return
  const rewrap = setSettingStatement(
    dataKeyNames.wrapped,
    await wrapDataKeys(opened.bytes, encryptionKey ?? ''),
  )
  const { sharedSecret, nextSharedSecret } = dataKeyNames
  await db.write(
    rewrap,
    ...(databaseUrl === null ? [] : [deleteSettingsStatement(sharedSecret, nextSharedSecret)]),
  )
}

/**
 * Opens the data keys, the first of which is created at the first start. If the installation has an ENCRYPTION_KEY
 * since then, they are wrapped again under it, and from then on every node needs it. Throws SealError if no secret
 * opens them, because a new key would make every stored credential unreadable.
 */
export async function openDataKeys(db: Db, sources: SecretSources): Promise<OpenedDataKeys> {
  let rows = await readDataKeyRows(db)
  if (!rows.has(dataKeyNames.wrapped)) rows = await createDataKey(db, sources)
  const opened = await unwrapRows(rows, sources)
  if (opened === undefined) throw new SealError(unopenedMessage(rows, sources))
  if (!isRotationUnfinished(rows)) await adoptSecret(db, opened, sources)
  return opened
}

/** The current data keys, for a thread that has opened them before; undefined if its secrets no longer open them. */
export async function reloadDataKeys(db: Db, sources: SecretSources): Promise<DataKeys | undefined> {
  return unwrapRows(await readDataKeyRows(db), sources)
}

export interface OpenedSealer {
  readonly sealer: Sealer
  /** The keys after a step of a rotation; undefined if the settings of this process no longer open them. */
  readonly reloadKeys: () => Promise<DataKeys | undefined>
}

/** Opens the data keys for the main thread. */
export async function openSealer(db: Db, config: Config): Promise<OpenedSealer> {
  const { bytes, isNewestReadOnly } = await openDataKeys(db, config)
  return { sealer: createSealer(bytes, isNewestReadOnly), reloadKeys: () => reloadDataKeys(db, config) }
}
