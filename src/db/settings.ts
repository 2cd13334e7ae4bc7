/** Facts about this installation that outlive a start, and the data key that seals upstream credentials. */

import {
  keyFileSecret,
  makeKeyFile,
  newDataKey,
  SealError,
  unwrapDataKey,
  wrapDataKey,
} from '../lib/encryption.ts'
import { expecting, type Db } from './db.ts'
import { sql } from './schema/schema.ts'

const dataKeyName = 'data_key'

export async function setting(db: Db, name: string): Promise<string | undefined> {
  const row = await db.first(sql.selectFrom('settings').select('value').where('name', '=', name))
  return row?.value
}

export async function putSetting(db: Db, name: string, value: string): Promise<void> {
  await db.write(
    sql
      .insertInto('settings')
      .values({ name, value })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ value })),
  )
}

export interface SealingOptions {
  readonly dataDir: string
  /** ENCRYPTION_KEY; absent or empty: the key file in the data directory. */
  readonly encryptionKey?: string | undefined
}

function opened(wrapped: string, secret: string | undefined): Uint8Array | undefined {
  if (secret === undefined) return undefined
  try {
    return unwrapDataKey(wrapped, secret)
  } catch (error) {
    if (error instanceof SealError) return undefined
    throw error
  }
}

async function firstDataKey(db: Db, secret: string): Promise<Uint8Array> {
  const dataKey = newDataKey()
  const value = wrapDataKey(dataKey, secret)
  await db.write(expecting(sql.insertInto('settings').values({ name: dataKeyName, value }), 1))
  return dataKey
}

/**
 * The data key, made and wrapped at the first start. An installation that began with the key file and now has an
 * ENCRYPTION_KEY is wrapped anew under it. Throws when neither opens it: guessing would lose every credential.
 */
export async function openDataKey(db: Db, options: SealingOptions): Promise<Uint8Array> {
  const given = options.encryptionKey === '' ? undefined : options.encryptionKey
  const filed = keyFileSecret(options.dataDir)
  const wrapped = await setting(db, dataKeyName)
  if (wrapped === undefined) return firstDataKey(db, given ?? filed ?? makeKeyFile(options.dataDir))
  const byGiven = opened(wrapped, given)
  if (byGiven !== undefined) return byGiven
  const byFile = opened(wrapped, filed)
  if (byFile === undefined) {
    throw new Error('ENCRYPTION_KEY (or the key file in DATA_DIR) does not open the stored credentials.')
  }
  if (given !== undefined) await putSetting(db, dataKeyName, wrapDataKey(byFile, given))
  return byFile
}

const sharedSecretName = 'data_key_secret'

/** A setting that the first who asks makes; the others find it. */
async function madeOnce(db: Db, name: string, make: () => string): Promise<string> {
  const value = make()
  await db.write(
    sql
      .insertInto('settings')
      .values({ name, value })
      .onConflict((conflict) => conflict.column('name').doNothing()),
  )
  return (await setting(db, name)) ?? value
}

/**
 * The data key of a cluster, whose nodes share no folder. Without ENCRYPTION_KEY its secret lies in the database beside
 * what it seals; the first node that starts with one wraps the key anew under it, and then every node needs it.
 */
export async function openSharedDataKey(db: Db, encryptionKey: string | null): Promise<Uint8Array> {
  const given = encryptionKey ?? undefined
  const beside = await setting(db, sharedSecretName)
  const known = await setting(db, dataKeyName)
  const secret = given ?? beside ?? (known === undefined ? await sharedSecret(db) : undefined)
  const wrapped = await madeOnce(db, dataKeyName, () => wrapDataKey(newDataKey(), secret ?? ''))
  const byGiven = opened(wrapped, given)
  if (byGiven !== undefined) return byGiven
  const byShared = opened(wrapped, beside ?? secret)
  if (byShared === undefined) throw new Error('ENCRYPTION_KEY does not open the stored credentials.')
  if (given !== undefined) {
    await db.write(
      sql
        .updateTable('settings')
        .set({ value: wrapDataKey(byShared, given) })
        .where('name', '=', dataKeyName),
      sql.deleteFrom('settings').where('name', '=', sharedSecretName),
    )
  }
  return byShared
}

function sharedSecret(db: Db): Promise<string> {
  return madeOnce(db, sharedSecretName, () => Buffer.from(newDataKey()).toString('base64url'))
}
