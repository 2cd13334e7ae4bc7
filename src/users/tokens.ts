/** Secrets that this room hands out: 256 random bits, of which only the hash is kept. */
import { hash, randomBytes } from 'node:crypto'

export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/** What is stored and looked up: SHA-256 in hex. The tokens are random, so nothing slower is needed. */
export function hashOfToken(token: string): string {
  return hash('sha256', token, 'hex')
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** 80 random bits to be written down or typed: `3k7q-zx0m-8t4v-p2cd`. */
export function newTypedCode(): string {
  // 256 is a multiple of 32: the low five bits of a random byte are uniform.
  const text = Array.from(randomBytes(16), (byte) => alphabet.charAt(byte & 31)).join('')
  return text.replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** A code as it was handed out, from what somebody typed. */
export function plainTypedCode(typed: string): string {
  const plain = typed.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')
  return plain.replaceAll(/(.{4})(?=.)/g, '$1-')
}
