/** Credentials that are JSON. */
import type { Json } from './json-fields.ts'
import { isObject } from './usage.ts'

/** The credential's fields. Throws in words of its own: those of JSON.parse would quote from the secret. */
export function credentialObject(text: string): Json {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error('The credential begins as JSON and is none.')
  }
  if (isObject(value)) return value
  throw new Error('The credential is no JSON object.')
}
