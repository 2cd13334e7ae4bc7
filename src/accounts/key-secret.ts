/**
 * The secret of a key: `sk-slu-`, 32 random base62 characters (190 bits), and 6 characters of a CRC32 over
 * everything before. The checksum tells a mistyped key from an unknown one without a lookup.
 */

import { hash, randomFillSync } from 'node:crypto'
import { crc32 } from 'node:zlib'

export const secretPrefix = 'sk-slu-'
const randomLength = 32
const checksumLength = 6
const secretLength = secretPrefix.length + randomLength + checksumLength
/** How much of a secret is stored in clear, so that people recognise the key. */
export const visiblePrefixLength = 11
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/**
 * The greatest multiple of 62 that fits in a byte. Larger bytes are discarded, so that all characters are
 * equally likely.
 */
const uniformBelow = 248

function randomText(length: number): string {
  let text = ''
  const bytes = new Uint8Array(length * 2)
  while (text.length < length) {
    randomFillSync(bytes)
    for (const byte of bytes) {
      if (byte < uniformBelow && text.length < length) text += alphabet.charAt(byte % 62)
    }
  }
  return text
}

function checksumOf(text: string): string {
  let remaining = crc32(text)
  let checksum = ''
  for (let index = 0; index < checksumLength; index += 1) {
    checksum = alphabet.charAt(remaining % 62) + checksum
    remaining = Math.floor(remaining / 62)
  }
  return checksum
}

export function generateSecret(): string {
  const text = secretPrefix + randomText(randomLength)
  return text + checksumOf(text)
}

/** Checks prefix, length and checksum, so that obviously wrong keys need no lookup. */
export function isWellFormedKey(secret: string): boolean {
  if (secret.length !== secretLength || !secret.startsWith(secretPrefix)) return false
  return checksumOf(secret.slice(0, -checksumLength)) === secret.slice(-checksumLength)
}

/** What is stored and looked up: the SHA-256 in hex. */
export function hashKey(secret: string): string {
  return hash('sha256', secret, 'hex')
}
