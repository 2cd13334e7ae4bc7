/** Tax numbers of Chinese enterprises: the unified social credit code of GB 32100-2015, and the older number of 15 digits. */
import { invalidField } from '../errors.ts'

/** Without I, O, S, V and Z. */
const symbols = '0123456789ABCDEFGHJKLMNPQRTUWXY'
const oldNumber = /^\d{15}$/

/** Digits of 15: valid, but most enterprises have a unified code by now. */
export const isOldTaxNumber = (number: string): boolean => oldNumber.test(number)

function hasCheckDigit(code: string): boolean {
  const values = Array.from(code, (symbol) => symbols.indexOf(symbol))
  if (values.length !== 18 || values.includes(-1)) return false
  let weight = 1
  let sum = 0
  for (const value of values.slice(0, -1)) {
    sum += value * weight
    weight = (weight * 3) % symbols.length
  }
  return values.at(-1) === (symbols.length - (sum % symbols.length)) % symbols.length
}

/** In capitals, without spaces. Throws 400 naming the field. */
export function cleanTaxNumber(text: string, param = 'tax_number'): string {
  const number = text.replaceAll(/\s/g, '').toUpperCase()
  if (isOldTaxNumber(number) || hasCheckDigit(number)) return number
  throw invalidField(param, 'must be a tax number of 18 characters with a right check digit, or of 15 digits')
}
