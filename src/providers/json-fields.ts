/** Fields of JSON that others wrote: what is there under its name and of its type, or nothing. */
import { isObject } from './usage.ts'

export type Json = Readonly<Record<string, unknown>>

export function objectIn(json: Json, name: string): Json | undefined {
  const value = json[name]
  return isObject(value) ? value : undefined
}

export function textIn(json: Json, name: string): string | undefined {
  const value = json[name]
  return typeof value === 'string' ? value : undefined
}

export function numberIn(json: Json, name: string): number | undefined {
  const value = json[name]
  return typeof value === 'number' ? value : undefined
}

/** A count of tokens; what is absent is none. */
export function countIn(json: Json, name: string): number {
  const value = json[name]
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.ceil(value) : 0
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** Is any of these counts told, and none in words that are no count? Zero is told, absent and null are not. */
export function hasCount(json: Json, ...names: readonly string[]): boolean {
  let isAnyTold = false
  for (const name of names) {
    const value = json[name]
    if (isCount(value)) isAnyTold = true
    else if (value !== undefined && value !== null) return false
  }
  return isAnyTold
}

/** What a table says of a word that others wrote: nothing of `constructor`, which every object has. */
export function entryOf<Entry>(table: Readonly<Record<string, Entry>>, word: string): Entry | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined
}

/** The objects of a list. */
export function objectsIn(json: Json, name: string): readonly Json[] {
  const value = json[name]
  return Array.isArray(value) ? value.filter((each) => isObject(each)) : []
}

/** The object without what is undefined, so that it can be compared and is written the shortest. */
export function present(json: Json): Json {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined))
}
