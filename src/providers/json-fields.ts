/** Reads fields of untrusted JSON: the value if it has the expected type, else `undefined`. */
export type Json = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function getObject(json: Json, name: string): Json | undefined {
  const value = json[name]
  return isObject(value) ? value : undefined
}

export function getString(json: Json, name: string): string | undefined {
  const value = json[name]
  return typeof value === 'string' ? value : undefined
}

export function getNumber(json: Json, name: string): number | undefined {
  const value = json[name]
  return typeof value === 'number' ? value : undefined
}

/** A count, which some upstreams write as a string; `undefined`: it is none. */
export function parseCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : value
  return typeof count === 'number' && Number.isFinite(count) && count >= 0 ? Math.ceil(count) : undefined
}

/** A token count; 0 if absent. */
export function getCount(json: Json, name: string): number {
  return parseCount(json[name]) ?? 0
}

/** True if at least one of these counts is present and none is invalid. Zero is present; null is absent. */
export function hasAnyCount(json: Json, ...names: readonly string[]): boolean {
  let hasAny = false
  for (const name of names) {
    const value = json[name]
    if (parseCount(value) !== undefined) hasAny = true
    else if (value !== undefined && value !== null) return false
  }
  return hasAny
}

/** Looks up an untrusted key among the table's own properties, which exclude `constructor` and the like. */
export function lookup<Entry>(table: Readonly<Record<string, Entry>>, key: string): Entry | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}

/** The objects of an array. */
export function getObjects(json: Json, name: string): readonly Json[] {
  const value = json[name]
  return Array.isArray(value) ? value.filter((each) => isObject(each)) : []
}

/** The object without undefined fields, for comparison and compact JSON. */
export function omitUndefined(json: Json): Json {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined))
}

/** The fields of a credential that is JSON. Throws messages of its own: those of JSON.parse would quote the secret. */
export function parseCredentialJson(text: string): Json {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error('The credential looks like JSON but is not valid JSON.')
  }
  if (isObject(value)) return value
  throw new Error('The credential is not a JSON object.')
}
