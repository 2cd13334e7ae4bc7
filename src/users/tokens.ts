/** Random tokens of 256 bits, of which only the hash is stored. */
import { hash, randomBytes } from 'node:crypto'

export function generateToken(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * What is stored and looked up: the SHA-256 in hex. The tokens are random, so a slower hash is not needed.
 */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex')
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** 80 random bits for writing down or typing: `3k7q-zx0m-8t4v-p2cd`. */
export function generateTypedCode(): string {
  // 256 is a multiple of 32, so the low five bits of a random byte are uniform.
  const text = Array.from(randomBytes(16), (byte) => alphabet.charAt(byte & 31)).join('')
  return text.replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** The original code from what somebody typed. */
export function normalizeTypedCode(typed: string): string {
  const cleaned = typed.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')
  return cleaned.replaceAll(/(.{4})(?=.)/g, '$1-')
}
