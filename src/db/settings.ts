/** Persistent settings of this installation, and the data key that encrypts upstream credentials. */

import {
  readKeyFile,
  createKeyFile,
  generateDataKey,
  SealError,
  unwrapDataKey,
  wrapDataKey,
} from '../lib/encryption.ts'
import { expectChanges, type Db } from './db.ts'
import { sql } from './schema/schema.ts'

const dataKeyName = 'data_key'

export async function getSetting(db: Db, name: string): Promise<string | undefined> {
  const row = await db.first(sql.selectFrom('settings').select('value').where('name', '=', name))
  return row?.value
}

export async function setSetting(db: Db, name: string, value: string): Promise<void> {
  await db.write(
    sql
      .insertInto('settings')
      .values({ name, value })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ value })),
  )
}

export interface SealingOptions {
  readonly dataDir: string
  /** ENCRYPTION_KEY; if absent or empty, the key file in the data directory is used. */
  readonly encryptionKey?: string | undefined
}

function tryUnwrapDataKey(wrapped: string, secret: string | undefined): Uint8Array | undefined {
  if (secret === undefined) return undefined
  try {
    return unwrapDataKey(wrapped, secret)
  } catch (error) {
    if (error instanceof SealError) return undefined
    throw error
  }
}

/** Whether these secrets open the data key; `null` without a secret or a data key. Reads only. */
export async function testDataKey(
  db: Db,
  { dataDir, encryptionKey }: SealingOptions,
): Promise<boolean | null> {
  const secrets = [encryptionKey, readKeyFile(dataDir)].filter((secret) => (secret ?? '') !== '')
  const wrapped = await getSetting(db, dataKeyName)
  if (wrapped === undefined || secrets.length === 0) return null
  return secrets.some((secret) => tryUnwrapDataKey(wrapped, secret) !== undefined)
}

async function createDataKey(db: Db, secret: string): Promise<Uint8Array> {
  const dataKey = generateDataKey()
  const value = wrapDataKey(dataKey, secret)
  await db.write(expectChanges(sql.insertInto('settings').values({ name: dataKeyName, value }), 1))
  return dataKey
}

/**
 * Opens the data key, which is created and wrapped at the first start. If the installation used the key file before and
 * now has an ENCRYPTION_KEY, the key is wrapped again under it. Throws if neither opens the key, because a new key would
 * make every stored credential unreadable.
 */
export async function openDataKey(db: Db, options: SealingOptions): Promise<Uint8Array> {
  const configuredSecret = options.encryptionKey === '' ? undefined : options.encryptionKey
  const keyFileSecret = readKeyFile(options.dataDir)
  const wrapped = await getSetting(db, dataKeyName)
  if (wrapped === undefined)
    return createDataKey(db, configuredSecret ?? keyFileSecret ?? createKeyFile(options.dataDir))
  const keyFromConfigured = tryUnwrapDataKey(wrapped, configuredSecret)
  if (keyFromConfigured !== undefined) return keyFromConfigured
  const keyFromFile = tryUnwrapDataKey(wrapped, keyFileSecret)
  if (keyFromFile === undefined) {
    throw new SealError(
      'ENCRYPTION_KEY (or the key file in DATA_DIR) does not decrypt the stored credentials.',
    )
  }
  if (configuredSecret !== undefined)
    await setSetting(db, dataKeyName, wrapDataKey(keyFromFile, configuredSecret))
  return keyFromFile
}

const sharedSecretName = 'data_key_secret'

/** Returns a setting, which the first caller creates. */
async function getOrCreateSetting(db: Db, name: string, make: () => string): Promise<string> {
  const value = make()
  await db.write(
    sql
      .insertInto('settings')
      .values({ name, value })
      .onConflict((conflict) => conflict.column('name').doNothing()),
  )
  return (await getSetting(db, name)) ?? value
}

/**
 * Opens the data key of a cluster, whose nodes share no folder. Without ENCRYPTION_KEY, its secret is stored in the same
 * database. The first node that starts with an ENCRYPTION_KEY wraps the key under it, and from then on every node needs it.
 */
export async function openSharedDataKey(db: Db, encryptionKey: string | null): Promise<Uint8Array> {
  const configuredSecret = encryptionKey ?? undefined
  const storedSecret = await getSetting(db, sharedSecretName)
  const existingKey = await getSetting(db, dataKeyName)
  const secret =
    configuredSecret ??
    storedSecret ??
    (existingKey === undefined ? await getOrCreateSharedSecret(db) : undefined)
  const wrapped = await getOrCreateSetting(db, dataKeyName, () =>
    wrapDataKey(generateDataKey(), secret ?? ''),
  )
  const keyFromConfigured = tryUnwrapDataKey(wrapped, configuredSecret)
  if (keyFromConfigured !== undefined) return keyFromConfigured
  const keyFromStored = tryUnwrapDataKey(wrapped, storedSecret ?? secret)
  if (keyFromStored === undefined)
    throw new SealError('ENCRYPTION_KEY does not decrypt the stored credentials.')
  if (configuredSecret !== undefined) {
    await db.write(
      sql
        .updateTable('settings')
        .set({ value: wrapDataKey(keyFromStored, configuredSecret) })
        .where('name', '=', dataKeyName),
      sql.deleteFrom('settings').where('name', '=', sharedSecretName),
    )
  }
  return keyFromStored
}

function getOrCreateSharedSecret(db: Db): Promise<string> {
  return getOrCreateSetting(db, sharedSecretName, () => Buffer.from(generateDataKey()).toString('base64url'))
}
