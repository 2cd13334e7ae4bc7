/** The codes of vouchers: what is read out, typed and printed, and worth money to whoever has it. */
import { randomFillSync } from 'node:crypto'

/** Crockford's base32: no I, L, O, U, so that nothing is mistaken for another. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const groups = 5
const groupLength = 4

/** 100 random bits: `3K7Q-ZX0M-8T4V-P2CD-9HYA`. */
export function newVoucherCode(): string {
  const bytes = randomFillSync(new Uint8Array(groups * groupLength))
  // 256 is a multiple of 32: the low five bits of a random byte are uniform.
  const text = Array.from(bytes, (byte) => alphabet.charAt(byte & 31)).join('')
  return Array.from({ length: groups }, (_, at) => text.slice(at * groupLength, (at + 1) * groupLength)).join(
    '-',
  )
}

/** A code as it was printed, from what somebody typed: case, spaces and dashes do not count, nor O for 0 and I or L for 1. */
export function plainVoucherCode(typed: string): string {
  return typed.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1')
}
