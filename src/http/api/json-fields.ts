/**
 * Resources under the names and in the forms that they have in JSON: `amountNanos` becomes `amount`, a decimal string;
 * `priceFactorPpm` becomes `price_factor`; `createdAt` becomes `created_at` (RFC 3339); `isPublic` becomes `public`.
 */
import { formatAmount, formatFactor } from '../../lib/money.ts'
import { formatTime } from './json-values.ts'

type SnakeCase<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Tail>}`
  : Name
type JsonName<Name extends string> = Name extends `${infer Base}Nanos` | `${infer Base}Ppm`
  ? SnakeCase<Base>
  : Name extends `is${infer Base}`
    ? SnakeCase<Uncapitalize<Base>>
    : SnakeCase<Name>
type Absent<Value> = Extract<Value, null | undefined>
type JsonValue<Name extends string, Value> = Name extends `${string}${'Nanos' | 'Ppm' | 'At'}`
  ? string | Absent<Value>
  : Value extends readonly unknown[] | string | number | boolean | null | undefined
    ? Value
    : JsonFields<Value>
export type JsonFields<Resource> = {
  [Name in keyof Resource & string as JsonName<Name>]: JsonValue<Name, Resource[Name]>
}

function jsonName(name: string): string {
  const base = name.replace(/(Nanos|Ppm)$/, '').replace(/^is(?=[A-Z])/, '')
  return base.replaceAll(/[A-Z]/g, (letter, at) => `${at === 0 ? '' : '_'}${letter.toLowerCase()}`)
}

function jsonValue(name: string, value: unknown): unknown {
  if (value === null || value === undefined) return value
  if (typeof value === 'bigint') return formatAmount(value)
  if (typeof value === 'number' && name.endsWith('At')) return formatTime(value)
  if (typeof value === 'number' && name.endsWith('Ppm')) return formatFactor(value)
  return typeof value === 'object' && !Array.isArray(value) ? jsonFields(value) : value
}

/** Converts all fields of a resource; the view that uses them shows only those of its schema. */
export function jsonFields<Resource extends object>(resource: Resource): JsonFields<Resource> {
  const fields = Object.entries(resource).map(
    ([name, value]) => [jsonName(name), jsonValue(name, value)] as const,
  )
  return Object.fromEntries(fields) as JsonFields<Resource>
}
