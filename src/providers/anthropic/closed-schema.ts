/**
 * The JSON Schemas to which Claude models can be held: objects are closed, and numbers, strings and lists have no bounds
 * (Anthropic, "Structured outputs", JSON Schema limitations). Bounds move to the description, as in Anthropic's libraries.
 */
import { getString, isObject, type Json } from '../json-fields.ts'
import { UnsupportedFeatureError } from '../provider.ts'

/** The caller's field with the schema of the response. */
export const responseSchemaParam = 'response_format.json_schema.schema'

const bounds = new Set(
  [
    'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf',
    'minLength maxLength maxItems uniqueItems',
  ].flatMap((line) => line.split(' ')),
)
const namedSchemas = new Set(['properties', '$defs', 'definitions'])
const alternatives = new Set(['anyOf', 'oneOf', 'allOf'])

function isUnsupported(keyword: string, value: unknown): boolean {
  return keyword === 'minItems' ? value !== 0 && value !== 1 : bounds.has(keyword)
}

function isOfObject({ type, properties, additionalProperties }: Json): boolean {
  if (type === undefined) return isObject(properties) || additionalProperties !== undefined
  return type === 'object' || (Array.isArray(type) && type.includes('object'))
}

/**
 * Closes the objects of a schema. `strictParam`: the caller's field, which is named if the caller insists on the schema
 * and an object of it is open; `null`: such objects are closed, too.
 */
export function closeSchema(schema: Json, strictParam: string | null): Json {
  const closeIn = (value: unknown): unknown => (isObject(value) ? closeSchema(value, strictParam) : value)
  const closed = new Map<string, unknown>()
  const moved: string[] = []
  for (const [keyword, value] of Object.entries(schema)) {
    if (isUnsupported(keyword, value)) moved.push(`${keyword}: ${JSON.stringify(value)}`)
    else if (keyword === 'items') closed.set(keyword, closeIn(value))
    else if (namedSchemas.has(keyword) && isObject(value)) {
      const entries = Object.entries(value).map(([name, each]) => [name, closeIn(each)] as const)
      closed.set(keyword, Object.fromEntries(entries))
    } else if (alternatives.has(keyword) && Array.isArray(value)) {
      closed.set(keyword === 'oneOf' ? 'anyOf' : keyword, value.map(closeIn))
    } else closed.set(keyword, value)
  }
  if (moved.length > 0) {
    const texts = [getString(schema, 'description'), `{${moved.join(', ')}}`]
    closed.set('description', texts.filter((text) => text !== undefined).join('\n\n'))
  }
  return { ...Object.fromEntries(closed), ...closing(schema, strictParam) }
}

function closing(schema: Json, strictParam: string | null): Json {
  if (!isOfObject(schema)) return {}
  const given = schema['additionalProperties'] ?? false
  if (given === false || strictParam === null) return { additionalProperties: false }
  throw new UnsupportedFeatureError(strictParam, '`additionalProperties` must be false for this provider')
}
