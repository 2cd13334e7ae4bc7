/**
 * The reference that a payer writes into a bank transfer: seven characters of the order's id and a check character, in
 * Crockford's base32. Any wrong character and any two that are swapped are detected.
 */

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
export const referenceLength = 8

/** Twice a value in GF(32), with the polynomial x⁵ + x² + 1, whose root generates all 31 weights. */
function double(value: number): number {
  return value < 16 ? value * 2 : (value * 2) ^ 0b100101
}

/** Σ xⁱ·dᵢ, the last character last; 0 for a text with a right check character. */
function checkSum(text: string): number {
  return Array.from(text).reduce((sum, char) => double(sum) ^ alphabet.indexOf(char), 0)
}

/** `referenceOf('S01K…')` → `7QZX0M3K`: of the random part of the id, so that two orders rarely share one. */
export function referenceOf(order: string): string {
  const part = order.slice(1 - referenceLength)
  return part + alphabet.charAt(double(checkSum(part)))
}

/** As people and banks write it: in capitals, without separators, O as 0, and I and L as 1. */
export function normalizeReference(text: string): string {
  return text
    .normalize('NFKC')
    .toUpperCase()
    .replaceAll(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1')
}

/** Whether the text, as written, is a reference with a right check character. */
export function isReference(text: string): boolean {
  const reference = normalizeReference(text)
  return /^[0-9A-HJKMNP-TV-Z]{8}$/.test(reference) && checkSum(reference) === 0
}
