/**
 * Secrets at rest: AES-256-GCM under one data key, with the id of the row as associated data, so that a sealed
 * text moved to another row does not open. The data key itself is kept wrapped: by ENCRYPTION_KEY, or by a key
 * file that the first start makes (ecosystem: Security choices).
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
/** 32 MiB and about 60 ms, once per start: a chosen passphrase is not tried out quickly. */
const scryptCost = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }
const keyFileName = 'sealing.key'

/** A text could not be opened: another key, another row, or changed bytes. */
export class SealError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SealError'
  }
}

export interface Sealer {
  /** Seals a text for one row. Sealing twice gives two texts. */
  seal(text: string, rowId: string): string
  /** Opens what `seal` made for the same row; throws SealError otherwise. */
  unseal(sealed: string, rowId: string): string
  /** As `seal`, from bytes to bytes. */
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
  if (sealed.length < ivBytes + 16) throw new SealError('A sealed text is cut short.')
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, ivBytes), { authTagLength: 16 })
  decipher.setAAD(Buffer.from(associated))
  decipher.setAuthTag(sealed.subarray(ivBytes, ivBytes + 16))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(ivBytes + 16)), decipher.final()])
  } catch {
    throw new SealError('A sealed text does not open: another key, another row, or changed bytes.')
  }
}

/** What seals and opens with a data key. The key is plain bytes, so that it can be handed to another thread. */
export function sealerOf(dataKey: Uint8Array): Sealer {
  return {
    seal: (text, rowId) => `${version}.${encrypt(dataKey, Buffer.from(text), rowId).toString('base64url')}`,
    unseal: (sealed, rowId) => {
      if (!sealed.startsWith(`${version}.`)) throw new SealError('A sealed text is of an unknown version.')
      const bytes = Buffer.from(sealed.slice(version.length + 1), 'base64url')
      return decrypt(dataKey, bytes, rowId).toString()
    },
    // A copy, for buffers share their memory with others: handed to another thread, all of it would go along.
    sealBytes: (bytes, rowId) => new Uint8Array(encrypt(dataKey, bytes, rowId)),
    unsealBytes: (sealed, rowId) => decrypt(dataKey, Buffer.from(sealed), rowId),
  }
}

export function newDataKey(): Uint8Array {
  return randomBytes(keyBytes)
}

/** Wraps a data key under a secret (ENCRYPTION_KEY or the key file's content). */
export function wrapDataKey(dataKey: Uint8Array, secret: string): string {
  const salt = randomBytes(saltBytes)
  const wrapping = scryptSync(secret, salt, keyBytes, scryptCost)
  const sealed = encrypt(wrapping, dataKey, 'data-key')
  return `${version}.${Buffer.concat([salt, sealed]).toString('base64url')}`
}

/** Opens a wrapped data key; throws SealError when the secret is another one. */
export function unwrapDataKey(wrapped: string, secret: string): Uint8Array {
  const bytes = Buffer.from(wrapped.slice(version.length + 1), 'base64url')
  const wrapping = scryptSync(secret, bytes.subarray(0, saltBytes), keyBytes, scryptCost)
  return decrypt(wrapping, bytes.subarray(saltBytes), 'data-key')
}

/** The content of the key file in the data directory; undefined when there is none. Throws SealError when empty. */
export function keyFileSecret(dataDir: string): string | undefined {
  const path = join(dataDir, keyFileName)
  let secret
  try {
    secret = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
  if (secret === '') throw new SealError(`${path} is empty: put back the one from your backup.`)
  return secret
}

/**
 * Makes the key file, readable by its owner only. Refuses to replace one that exists. It appears whole or not at
 * all, and on the disk before anything is sealed with it: whatever is cut short here, no credential is lost.
 */
export function makeKeyFile(dataDir: string): string {
  const secret = randomBytes(keyBytes).toString('base64url')
  const path = join(dataDir, keyFileName)
  if (existsSync(path)) throw new SealError(`${path} exists.`)
  const draft = `${path}.new`
  rmSync(draft, { force: true })
  writeFileSync(draft, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
  renameSync(draft, path)
  const folder = openSync(dataDir, 'r')
  fsyncSync(folder)
  closeSync(folder)
  return secret
}
