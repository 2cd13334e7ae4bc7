/**
 * Encryption of secrets at rest: AES-256-GCM under one data key, with the row's id as associated data, so that a sealed
 * text copied to another row cannot be opened. The data key itself is stored wrapped, under ENCRYPTION_KEY or a key file
 * that is created at the first start.
 */

import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { errorCode } from './error-message.ts'

const algorithm = 'aes-256-gcm'
const version = 's1'
const keyBytes = 32
const ivBytes = 12
const saltBytes = 16
/** 32 MiB and about 60 ms, once per start, against brute force of a weak passphrase. */
const scryptCost = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }
const keyFileName = 'sealing.key'

/** A sealed text could not be opened: wrong key, wrong row, or modified bytes. */
export class SealError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SealError'
  }
}

export interface Sealer {
  /** Encrypts a text for one row. Sealing the same text twice gives different results. */
  seal(text: string, rowId: string): string
  /** Decrypts a text that `seal` encrypted for the same row; throws SealError otherwise. */
  unseal(sealed: string, rowId: string): string
  /** Like `seal`, for bytes. */
  sealBytes(bytes: Uint8Array, rowId: string): Uint8Array
  unsealBytes(sealed: Uint8Array, rowId: string): Buffer
}

function encrypt(key: Uint8Array, plain: Uint8Array, associated: string): Buffer {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv(algorithm, key, iv)
  cipher.setAAD(Buffer.from(associated))
  const body = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body])
}

function decrypt(key: Uint8Array, sealed: Buffer, associated: string): Buffer {
  if (sealed.length < ivBytes + 16) throw new SealError('The sealed text is truncated.')
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, ivBytes), { authTagLength: 16 })
  decipher.setAAD(Buffer.from(associated))
  decipher.setAuthTag(sealed.subarray(ivBytes, ivBytes + 16))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(ivBytes + 16)), decipher.final()])
  } catch {
    throw new SealError('The sealed text cannot be opened: wrong key, wrong row, or modified bytes.')
  }
}

/** Creates a sealer for a data key. The key is plain bytes, so that it can be passed to another thread. */
export function createSealer(dataKey: Uint8Array): Sealer {
  return {
    seal: (text, rowId) => `${version}.${encrypt(dataKey, Buffer.from(text), rowId).toString('base64url')}`,
    unseal: (sealed, rowId) => {
      if (!sealed.startsWith(`${version}.`)) throw new SealError('The sealed text has an unknown version.')
      const bytes = Buffer.from(sealed.slice(version.length + 1), 'base64url')
      return decrypt(dataKey, bytes, rowId).toString()
    },
    // A copy, because a Buffer may share pooled memory, all of which would be transferred to another thread.
    sealBytes: (bytes, rowId) => new Uint8Array(encrypt(dataKey, bytes, rowId)),
    unsealBytes: (sealed, rowId) => decrypt(dataKey, Buffer.from(sealed), rowId),
  }
}

export function generateDataKey(): Uint8Array {
  return randomBytes(keyBytes)
}

/** Wraps a data key under a secret (ENCRYPTION_KEY or the key file's content). */
export function wrapDataKey(dataKey: Uint8Array, secret: string): string {
  const salt = randomBytes(saltBytes)
  const wrapping = scryptSync(secret, salt, keyBytes, scryptCost)
  const sealed = encrypt(wrapping, dataKey, 'data-key')
  return `${version}.${Buffer.concat([salt, sealed]).toString('base64url')}`
}

/** Unwraps a data key; throws SealError if the secret is wrong. */
export function unwrapDataKey(wrapped: string, secret: string): Uint8Array {
  const bytes = Buffer.from(wrapped.slice(version.length + 1), 'base64url')
  const wrapping = scryptSync(secret, bytes.subarray(0, saltBytes), keyBytes, scryptCost)
  return decrypt(wrapping, bytes.subarray(saltBytes), 'data-key')
}

/** Reads the key file of the data directory; undefined if it does not exist. Throws SealError if it is empty. */
export function readKeyFile(dataDir: string): string | undefined {
  const path = join(dataDir, keyFileName)
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
 * Creates the key file, readable only by its owner, and never replaces an existing one. The file appears atomically and
 * is synced before anything is sealed with it, so an interruption cannot lose credentials.
 */
export function createKeyFile(dataDir: string): string {
  const secret = randomBytes(keyBytes).toString('base64url')
  const path = join(dataDir, keyFileName)
  if (existsSync(path)) throw new SealError(`${path} already exists.`)
  const draft = `${path}.new`
  rmSync(draft, { force: true })
  writeFileSync(draft, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
  renameSync(draft, path)
  const folder = openSync(dataDir, 'r')
  fsyncSync(folder)
  closeSync(folder)
  return secret
}
