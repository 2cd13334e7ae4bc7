/** Voucher codes: easy to read, print and type, and worth money to anyone who has one. */
import { randomFillSync } from 'node:crypto'

/** Crockford's base32: without I, L, O and U, which are easily confused. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const groups = 5
const groupLength = 4

/** 100 random bits: `3K7Q-ZX0M-8T4V-P2CD-9HYA`. */
export function generateVoucherCode(): string {
  const bytes = randomFillSync(new Uint8Array(groups * groupLength))
  // 256 is a multiple of 32: the low five bits of a random byte are uniform.
  const text = Array.from(bytes, (byte) => alphabet.charAt(byte & 31)).join('')
  return Array.from({ length: groups }, (_, at) => text.slice(at * groupLength, (at + 1) * groupLength)).join(
    '-',
  )
}

/** Normalizes a typed code: ignores case, spaces and dashes, and reads O as 0 and I or L as 1. */
export function normalizeVoucherCode(typed: string): string {
  return typed.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1')
}
