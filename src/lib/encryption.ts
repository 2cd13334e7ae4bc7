/**
 * Encryption of secrets at rest: AES-256-GCM under a data key, with the row's id as associated data, so that a sealed
 * text copied to another row cannot be opened. The data key itself is stored wrapped, under ENCRYPTION_KEY or a key file
 * that is created at the first start.
 *
 * A rotation adds a data key. Values of the first one begin with `s1.`; values of later ones with `s2.`, the id of their
 * key and a dot, so that a query finds the values that an earlier key has sealed. Sealed bytes have the same beginning,
 * except that those of the first key have none.
 */

import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const firstVersion = 's1'
const rotatedVersion = 's2'
const keyBytes = 32
const keyIdChars = 8
const ivBytes = 12
const saltBytes = 16
/** 32 MiB and about 60 ms, once per start, against brute force of a weak passphrase. */
const scryptCost = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }

/** A sealed text could not be opened: wrong key, wrong row, or modified bytes. */
export class SealError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SealError'
  }
}

/** The data keys of an installation. */
export interface DataKeys {
  /** The keys, oldest first, concatenated. */
  readonly bytes: Uint8Array
  /** While a rotation makes the newest key known to all threads and nodes: it opens values and does not seal any yet. */
  readonly isNewestReadOnly: boolean
}

export interface Sealer {
  readonly keys: DataKeys
  /** What begins every value that the current key seals and names it; empty for the first key. */
  readonly prefix: string
  /** Uses other keys from now on. */
  replaceKeys(keys: DataKeys): void
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

interface SealingKey {
  readonly id: string
  readonly bytes: Uint8Array
}

/** Names a data key in the values that it seals; says nothing about the key, which is random. */
function dataKeyId(key: Uint8Array): string {
  const hash = createHash('sha256').update('sluice data key').update(key)
  return hash.digest('base64url').slice(0, keyIdChars)
}

function splitKeys(bytes: Uint8Array): SealingKey[] {
  const keys: SealingKey[] = []
  for (let start = 0; start < bytes.length; start += keyBytes) {
    const key = bytes.slice(start, start + keyBytes)
    keys.push({ id: dataKeyId(key), bytes: key })
  }
  return keys
}

/** The ids of the keys, oldest first, and the id of the one that seals. */
export function dataKeyIds({ bytes, isNewestReadOnly }: DataKeys): { all: string[]; current: string } {
  const all = splitKeys(bytes).map(({ id }) => id)
  return { all, current: all.at(isNewestReadOnly ? -2 : -1) ?? '' }
}

function prefixOf(id: string): string {
  return `${rotatedVersion}.${id}.`
}

/** The length of the beginning that names the key of a value, unless the first key has sealed it. */
export const sealedPrefixChars = prefixOf('').length + keyIdChars

interface KeyRing {
  readonly keys: DataKeys
  readonly split: readonly SealingKey[]
  readonly current: SealingKey
  /** Empty for the first key. */
  readonly prefix: string
}

function toKeyRing(keys: DataKeys): KeyRing {
  const split = splitKeys(keys.bytes)
  const current = split.at(keys.isNewestReadOnly ? -2 : -1)
  if (current === undefined) throw new SealError('There is no data key.')
  return { keys, split, current, prefix: current === split[0] ? '' : prefixOf(current.id) }
}

/** The key that the beginning of a value names. */
function namedKey({ split }: KeyRing, beginning: string): SealingKey | undefined {
  return split.find(({ id }) => beginning.startsWith(prefixOf(id)))
}

/** For values that do not name their key. */
function decryptWithAny({ split }: KeyRing, sealed: Buffer, associated: string): Buffer {
  for (const key of split.slice(1)) {
    try {
      return decrypt(key.bytes, sealed, associated)
    } catch {
      // Another key has sealed it.
    }
  }
  return decrypt(split[0]?.bytes ?? new Uint8Array(keyBytes), sealed, associated)
}

/** Creates a sealer for data keys, by default without a rotation. Keys are bytes, so that they can be passed to threads. */
export function createSealer(bytes: Uint8Array, isNewestReadOnly = false): Sealer {
  let ring = toKeyRing({ bytes, isNewestReadOnly })
  return {
    get keys() {
      return ring.keys
    },
    get prefix() {
      return ring.prefix
    },
    replaceKeys(keys) {
      ring = toKeyRing(keys)
    },
    seal(text, rowId) {
      const sealed = encrypt(ring.current.bytes, Buffer.from(text), rowId).toString('base64url')
      return `${ring.prefix || `${firstVersion}.`}${sealed}`
    },
    unseal(sealed, rowId) {
      if (sealed.startsWith(`${firstVersion}.`)) {
        const bytes = Buffer.from(sealed.slice(firstVersion.length + 1), 'base64url')
        return decryptWithAny(ring, bytes, rowId).toString()
      }
      const key = namedKey(ring, sealed)
      if (key === undefined)
        throw new SealError(
          'The sealed text has an unknown version, or this relay does not have its data key.',
        )
      return decrypt(key.bytes, Buffer.from(sealed.slice(sealedPrefixChars), 'base64url'), rowId).toString()
    },
    // A copy, because a Buffer may share pooled memory, all of which would be transferred to another thread.
    sealBytes: (bytes, rowId) =>
      new Uint8Array(
        Buffer.concat([Buffer.from(ring.prefix, 'latin1'), encrypt(ring.current.bytes, bytes, rowId)]),
      ),
    unsealBytes(sealed, rowId) {
      const bytes = Buffer.from(sealed)
      const key = namedKey(ring, bytes.toString('latin1', 0, sealedPrefixChars))
      if (key === undefined) return decryptWithAny(ring, bytes, rowId)
      return decrypt(key.bytes, bytes.subarray(sealedPrefixChars), rowId)
    },
  }
}

export function generateDataKey(): Uint8Array {
  return randomBytes(keyBytes)
}

function deriveKey(secret: string, salt: Uint8Array): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  scrypt(secret, salt, keyBytes, scryptCost, (error, key) => (error ? reject(error) : resolve(key)))
  return promise
}

/** Wraps data keys (see `DataKeys.bytes`) under a secret (ENCRYPTION_KEY or the key file's content). */
export async function wrapDataKeys(bytes: Uint8Array, secret: string): Promise<string> {
  const salt = randomBytes(saltBytes)
  const wrapping = await deriveKey(secret, salt)
  const sealed = encrypt(wrapping, bytes, 'data-key')
  const version = bytes.length === keyBytes ? firstVersion : rotatedVersion
  return `${version}.${Buffer.concat([salt, sealed]).toString('base64url')}`
}

/** Unwraps data keys; throws SealError if the secret is wrong. */
export async function unwrapDataKeys(wrapped: string, secret: string): Promise<Uint8Array> {
  const bytes = Buffer.from(wrapped.slice(firstVersion.length + 1), 'base64url')
  const wrapping = await deriveKey(secret, bytes.subarray(0, saltBytes))
  return decrypt(wrapping, bytes.subarray(saltBytes), 'data-key')
}

/** The keys with another one as the newest. */
export function appendDataKey(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(Buffer.concat([bytes, generateDataKey()]))
}

/** The two newest keys: values of the older one may still be written by requests that began before a rotation. */
export function newestDataKeys(bytes: Uint8Array): Uint8Array {
  return bytes.slice(-2 * keyBytes)
}
