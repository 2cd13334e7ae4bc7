/**
 * What a change of an object means to the audit log: each changed field with its value before and after, under the names
 * and in the units of the API.
 */
import { formatAmount, formatFactor } from '../lib/money.ts'

export interface AuditChange {
  readonly before: unknown
  readonly after: unknown
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `cacheWrite1h` → `cache_write_1h`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/([a-z])(?=[A-Z0-9])/g, '$1_').toLowerCase()
}

/** The name and the value of a field as the API has them: by the unit in the name of the field. */
function apiField(name: string, value: unknown): [name: string, value: unknown] {
  if (name.endsWith('Nanos'))
    return [name.slice(0, -5), typeof value === 'bigint' ? formatAmount(value) : value]
  if (name.endsWith('Ppm'))
    return [name.slice(0, -3), typeof value === 'number' ? formatFactor(value) : value]
  if (name.endsWith('At') && typeof value === 'number') return [name, new Date(value).toISOString()]
  return [name, value]
}

/**
 * The fields of an object as the API names and writes them: `{ caps: { dailyNanos: 5000000n } }` → `caps.daily`, `0.005`.
 * Lists are left as they are.
 */
function apiFields(object: object, path = ''): Map<string, unknown> {
  const fields = new Map<string, unknown>()
  for (const [property, own] of Object.entries(object)) {
    const [name, value] = apiField(property, own)
    const field = path + snakeCase(name)
    if (isObject(value)) for (const nested of apiFields(value, `${field}.`)) fields.set(...nested)
    else fields.set(field, value ?? null)
  }
  return fields
}

/** The fields in which two states of an object differ; null if there are none. An absent field counts as null. */
export function auditChanges(before: object, after: object): Record<string, AuditChange> | null {
  const [left, right] = [apiFields(before), apiFields(after)]
  const changes: Record<string, AuditChange> = {}
  for (const name of new Set([...left.keys(), ...right.keys()])) {
    const change = { before: left.get(name) ?? null, after: right.get(name) ?? null }
    if (JSON.stringify(change.before) !== JSON.stringify(change.after)) changes[name] = change
  }
  return Object.keys(changes).length === 0 ? null : changes
}

/** The fields of a new object, for its first audit record. */
export function auditFields(object: object): Record<string, unknown> {
  return Object.fromEntries(apiFields(object))
}

/** A flat JSON object after `json_patch` (RFC 7396): null removes a field. */
export function patchJson(stored: string, patch: string): string {
  const merged = { ...(JSON.parse(stored) as object), ...(JSON.parse(patch) as object) }
  return JSON.stringify(Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null)))
}
