/**
 * The steps of a rotation of the data keys as writes, each one transaction that also publishes the change to all nodes:
 * begin (a new data key that opens values), activate (it seals new values), finish (only the new secret opens the keys).
 * Until it is finished, the keys are stored under the old and the new secret, so both start a relay.
 */

import {
  appendDataKey,
  dataKeyIds,
  generateDataKey,
  newestDataKeys,
  wrapDataKeys,
  type DataKeys,
} from '../lib/encryption.ts'
import {
  createKeyFile,
  nextKeyFileName,
  readKeyFile,
  replaceKeyFile,
  retireKeyFiles,
} from '../lib/key-file.ts'
import {
  dataKeyNames,
  isRotationUnfinished,
  listSecrets,
  readDataKeyRows,
  rotationState,
  unwrapRows,
  unwrapWithAny,
  type DataKeyRows,
  type RotationState,
  type Secret,
  type SecretSources,
} from './data-keys.ts'
import { expectChanges, prefixRange, type Db, type Query } from './db.ts'
import { publishStatements } from './postgres/change-feed.ts'
import { sql } from './schema/schema.ts'
import { deleteSettingsStatement, getSetting, setSettingStatement } from './settings.ts'

/** Settings with the data keys that each node of a cluster has: this and the node's id. */
const nodeKeysPrefix = 'data_keys:'

/** A rotation cannot begin or finish; the message says what to do. */
export class RotationError extends Error {
  override readonly name = 'RotationError'
}

const {
  wrapped: wrappedName,
  nextWrapped,
  rotation: rotationName,
  sharedSecret,
  nextSharedSecret,
} = dataKeyNames

/** Changes a setting that still has the value that was read: another command may rotate at the same time. */
function replaceSetting(rows: DataKeyRows, name: string, value: string): Query {
  const update = sql.updateTable('settings').set({ value }).where('name', '=', name)
  return expectChanges(update.where('value', '=', rows.get(name) ?? ''), 1)
}

function stateAt(phase: RotationState['phase'], at: string): string {
  return JSON.stringify({ phase, at } satisfies RotationState)
}

function write({ databaseUrl }: SecretSources, db: Db, ...queries: readonly Query[]): Promise<unknown> {
  const change = databaseUrl === null ? [] : publishStatements({ kind: 'data_key', id: '' })
  return db.write(...queries, ...change)
}

/** The secret that the rotation changes to. Without ENCRYPTION_KEY, a new one is created, next to the current one. */
async function targetSecret(db: Db, rows: DataKeyRows, sources: SecretSources): Promise<Secret> {
  const { encryptionKey, databaseUrl, dataDir } = sources
  if ((encryptionKey ?? '') !== '') return { name: 'ENCRYPTION_KEY', text: encryptionKey ?? '' }
  if (databaseUrl === null)
    return {
      name: 'the new key file',
      text: readKeyFile(dataDir, nextKeyFileName) ?? createKeyFile(dataDir, nextKeyFileName),
    }
  const text = rows.get(nextSharedSecret) ?? Buffer.from(generateDataKey()).toString('base64url')
  await db.write(setSettingStatement(nextSharedSecret, text))
  return { name: 'the new key in the database', text }
}

async function open(rows: DataKeyRows, sources: SecretSources) {
  const opened = await unwrapRows(rows, sources)
  if (opened === undefined) throw new RotationError('The settings of this relay do not open the data keys.')
  return opened
}

/**
 * Adds a data key, which opens values from now on. False if there is nothing to rotate, because a rotation to this
 * ENCRYPTION_KEY is finished. Throws RotationError if there is no other key to rotate to.
 */
export async function beginRotation(db: Db, sources: SecretSources): Promise<boolean> {
  const rows = await readDataKeyRows(db)
  if (isRotationUnfinished(rows)) return true
  const { bytes, secret } = await open(rows, sources)
  // A relay that had no ENCRYPTION_KEY at first keeps its key file, which opens earlier copies of the data key.
  const hasOldKeyFile = sources.databaseUrl === null && readKeyFile(sources.dataDir) !== undefined
  if (secret.name === 'ENCRYPTION_KEY' && !hasOldKeyFile) {
    if (sources.encryptionKeyPrevious !== null) return false
    throw new RotationError(
      'There is no new key to rotate to: this ENCRYPTION_KEY is the one in use. Set ENCRYPTION_KEY to a new key and ENCRYPTION_KEY_PREVIOUS to the current one, restart the relay, on all nodes of a cluster, and run sluice rotate-key again.',
    )
  }
  const target = await targetSecret(db, rows, sources)
  const next = appendDataKey(bytes)
  await write(
    sources,
    db,
    replaceSetting(rows, wrappedName, await wrapDataKeys(next, secret.text)),
    setSettingStatement(nextWrapped, await wrapDataKeys(next, target.text)),
    setSettingStatement(rotationName, stateAt('distributing', new Date().toISOString())),
    ...deleteNodeKeys(),
  )
  return true
}

/** For a rotation that is resumed, perhaps with other settings: wraps the keys under the secret that it changes to now. */
export async function prepareResumption(db: Db, sources: SecretSources): Promise<void> {
  const rows = await readDataKeyRows(db)
  if (!isRotationUnfinished(rows)) return
  const { bytes, secret } = await open(rows, sources)
  const target = await targetSecret(db, rows, sources)
  if ((await unwrapWithAny(rows.get(nextWrapped), [target])) !== undefined) return
  if (secret.name === 'ENCRYPTION_KEY' && sources.encryptionKeyPrevious === null)
    throw new RotationError(
      'A rotation to another key is unfinished, and this relay runs with the key before it. Set ENCRYPTION_KEY to the new key and ENCRYPTION_KEY_PREVIOUS to this one, restart the relay, and run sluice rotate-key again.',
    )
  const rewrap = setSettingStatement(nextWrapped, await wrapDataKeys(bytes, target.text))
  await write(sources, db, rewrap, ...deleteNodeKeys())
}

/** The new data key seals values from now on. */
export async function activateNewKey(db: Db, sources: SecretSources): Promise<void> {
  const rows = await readDataKeyRows(db)
  const state = rotationState(rows)
  if (state?.phase !== 'distributing') return
  await write(sources, db, replaceSetting(rows, rotationName, stateAt('resealing', state.at)))
}

/** Only the new secret opens the keys from now on. No value may be sealed under an older key any more. */
export async function finishRotation(db: Db, sources: SecretSources, audit: Query): Promise<void> {
  const rows = await readDataKeyRows(db)
  if (!isRotationUnfinished(rows)) return
  const { bytes } = await open(rows, sources)
  const target = await targetSecret(db, rows, sources)
  const isShared = target.name === 'the new key in the database'
  await write(
    sources,
    db,
    replaceSetting(rows, wrappedName, await wrapDataKeys(newestDataKeys(bytes), target.text)),
    replaceSetting(rows, rotationName, stateAt('finished', new Date().toISOString())),
    ...(isShared
      ? [
          setSettingStatement(sharedSecret, target.text),
          deleteSettingsStatement(nextWrapped, nextSharedSecret),
        ]
      : [deleteSettingsStatement(nextWrapped, sharedSecret, nextSharedSecret)]),
    ...deleteNodeKeys(),
    audit,
  )
  if (sources.databaseUrl !== null) return
  // Interrupted before this, the next start does it.
  if (target.name === 'the new key file') replaceKeyFile(sources.dataDir, new Date())
  else retireKeyFiles(sources.dataDir, new Date())
}

/** The nodes report again after the change that is published with it. */
function deleteNodeKeys(): Query[] {
  const [from, to] = prefixRange(nodeKeysPrefix)
  return [sql.deleteFrom('settings').where('name', '>=', from).where('name', '<', to)]
}

/** What a node of a cluster has, as it has stored it. */
export interface NodeKeys {
  /** The ids of the data keys that it opens values with. */
  readonly opens: readonly string[]
  /** The id of the one that it seals values with. */
  readonly seals: string
  /** Whether its settings contain the new secret. */
  readonly hasNewSecret: boolean
}

/** Stores which keys a node, with all its threads, has. Only while a rotation is unfinished. */
export async function reportNodeKeys(
  db: Db,
  node: string,
  keys: DataKeys,
  sources: SecretSources,
): Promise<void> {
  const rows = await readDataKeyRows(db)
  if (!isRotationUnfinished(rows)) return
  const { all: opens, current: seals } = dataKeyIds(keys)
  const opened = await unwrapWithAny(rows.get(nextWrapped), listSecrets(rows, sources))
  const value: NodeKeys = { opens, seals, hasNewSecret: opened !== undefined }
  await db.write(setSettingStatement(`${nodeKeysPrefix}${node}`, JSON.stringify(value)))
}

/** undefined: the node has reported nothing, for example because it runs an earlier release. */
export async function readNodeKeys(db: Db, node: string): Promise<NodeKeys | undefined> {
  const text = await getSetting(db, `${nodeKeysPrefix}${node}`)
  return text === undefined ? undefined : (JSON.parse(text) as NodeKeys)
}
