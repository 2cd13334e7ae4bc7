/**
 * The secret of a key: `sk-slu-`, 32 random base62 characters (190 bits), 6 of a CRC32 over what stands before
 * (ecosystem: Security choices). The checksum tells a mistyped key from a wrong one without a look-up.
 */

import { hash, randomFillSync } from 'node:crypto'
import { crc32 } from 'node:zlib'

export const secretPrefix = 'sk-slu-'
const randomLength = 32
const checksumLength = 6
const secretLength = secretPrefix.length + randomLength + checksumLength
/** How much of a secret is kept, to recognise the key by. */
export const shownLength = 11
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** The greatest multiple of 62 in a byte: bytes from here on are thrown away, so every character is as likely. */
const fairBelow = 248

function randomText(length: number): string {
  let text = ''
  const bytes = new Uint8Array(length * 2)
  while (text.length < length) {
    randomFillSync(bytes)
    for (const byte of bytes) {
      if (byte < fairBelow && text.length < length) text += alphabet.charAt(byte % 62)
    }
  }
  return text
}

function checksumOf(text: string): string {
  let rest = crc32(text)
  let checksum = ''
  for (let index = 0; index < checksumLength; index += 1) {
    checksum = alphabet.charAt(rest % 62) + checksum
    rest = Math.floor(rest / 62)
  }
  return checksum
}

export function newSecret(): string {
  const text = secretPrefix + randomText(randomLength)
  return text + checksumOf(text)
}

/** Prefix, length and checksum: whether a look-up is worth it. */
export function looksLikeKey(secret: string): boolean {
  if (secret.length !== secretLength || !secret.startsWith(secretPrefix)) return false
  return checksumOf(secret.slice(0, -checksumLength)) === secret.slice(-checksumLength)
}

/** What is stored and looked up: SHA-256 in hex. */
export function hashOfKey(secret: string): string {
  return hash('sha256', secret, 'hex')
}
