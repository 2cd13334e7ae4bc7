/** The JSON Schemas that OpenAI accepts as `strict` (OpenAI, "Structured Outputs", supported schemas). */
import { getObjects, isObject, type Json } from '../providers/json-fields.ts'

const unsupportedKeywords = ['oneOf', 'allOf', 'not', 'if', 'dependentRequired', 'dependentSchemas']

function valuesOf(value: unknown): unknown[] {
  return isObject(value) ? Object.values(value) : []
}

function isClosed({ type, additionalProperties, properties, required }: Json): boolean {
  if (type !== 'object' && !(Array.isArray(type) && type.includes('object'))) return true
  const names = isObject(properties) ? Object.keys(properties) : []
  const all = new Set<unknown>(Array.isArray(required) ? required : [])
  return additionalProperties === false && names.every((name) => all.has(name))
}

/** Every object is closed and requires all its properties. Anthropic accepts optional properties, too. */
export function isStrictSchema(schema: Json): boolean {
  if (unsupportedKeywords.some((keyword) => schema[keyword] !== undefined) || !isClosed(schema)) return false
  const named = [schema['properties'], schema['$defs'], schema['definitions']].flatMap(valuesOf)
  const inner = [...named, schema['items'], ...getObjects(schema, 'anyOf')]
  return inner.every((each) => !isObject(each) || isStrictSchema(each))
}
