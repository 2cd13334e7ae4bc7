/** The JSON Schemas that providers accept where they guarantee that the output matches. */

import { isObject } from '../../../src/providers/json-fields.ts'
import { type Json, objectIn, objectsIn } from './strict-rules.ts'

/** The schema and all schemas in it, with their positions as in OpenAI's errors. */
function* subschemas(
  schema: Json,
  context: readonly string[] = [],
): Generator<{ schema: Json; context: readonly string[] }> {
  yield { schema, context }
  for (const keyword of ['properties', '$defs', 'definitions']) {
    for (const [name, each] of Object.entries(objectIn(schema[keyword])))
      if (isObject(each)) yield* subschemas(each, [...context, keyword, name])
  }
  if (isObject(schema['items'])) yield* subschemas(schema['items'], [...context, 'items'])
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
    for (const [index, each] of objectsIn(schema[keyword]).entries())
      yield* subschemas(each, [...context, keyword, String(index)])
  }
}

function isObjectSchema({ type }: Json): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object'))
}

/**
 * OpenAI, "Structured Outputs": all objects have `additionalProperties: false`, all properties are required. The texts
 * are those of the API's errors.
 */
export function findOpenAISchemaProblem(root: Json): string | undefined {
  for (const { schema, context } of subschemas(root)) {
    const where = `In context=(${context.map((each) => `'${each}'`).join(', ')})`
    const unsupported = ['oneOf', 'allOf', 'not'].find((keyword) => schema[keyword] !== undefined)
    if (unsupported !== undefined) return `${where}, '${unsupported}' is not permitted.`
    if (!isObjectSchema(schema)) continue
    if (schema['additionalProperties'] !== false)
      return `${where}, 'additionalProperties' is required to be supplied and to be false.`
    const required: unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
    const missing = Object.keys(objectIn(schema['properties'])).find((name) => !required.includes(name))
    if (missing !== undefined)
      return `${where}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`
  }
  return undefined
}

/**
 * Anthropic, "Structured outputs", JSON Schema limitations; the libraries' `transform_schema` removes the same. The texts
 * are those of the API's errors.
 */
const unsupportedByType: Readonly<Record<string, readonly string[]>> = {
  integer: ['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum', 'multipleOf'],
  number: ['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum', 'multipleOf'],
  string: ['maxLength', 'minLength'],
  array: ['maxItems', 'uniqueItems'],
}

export function findAnthropicSchemaProblem(root: Json): string | undefined {
  for (const { schema } of subschemas(root)) {
    if (isObjectSchema(schema) && schema['additionalProperties'] !== false)
      return "For 'object' type, 'additionalProperties' must be explicitly set to false"
    const type = String(schema['type'])
    const unsupported = (unsupportedByType[type] ?? []).filter((keyword) => schema[keyword] !== undefined)
    if (unsupported.length > 0)
      return `For '${type}' type, properties ${unsupported.join(', ')} are not supported`
    const { minItems } = schema
    if (type === 'array' && minItems !== undefined && minItems !== 0 && minItems !== 1)
      return "For 'array' type, 'minItems' values other than 0 and 1 are not supported"
  }
  return undefined
}
