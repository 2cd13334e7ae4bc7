/**
 * Names that callers give and a provider does not accept: of tools, and of properties in schemas. They are sent in a form
 * that every provider accepts, and restored in the response.
 */
import { createHash } from 'node:crypto'
import { getObject, getObjects, getString, isObject, type Json } from './json-fields.ts'
import { usesFunctions } from './legacy-functions.ts'

/** What a provider accepts. */
export interface NameRules {
  readonly tool: RegExp
  /** Absent: any. */
  readonly property?: RegExp
}

/** Anthropic, "Define tools", and the texts of its errors. Bedrock's are narrower. */
export const claudeNames: NameRules = {
  tool: /^[a-zA-Z0-9_-]{1,128}$/,
  property: /^[a-zA-Z0-9_.-]{1,64}$/,
}
/** Amazon, "ToolSpecification"; those of properties are Claude's. */
export const bedrockNames: NameRules = { ...claudeNames, tool: /^[a-zA-Z0-9_-]{1,64}$/ }
/** Google, "FunctionDeclaration". */
export const geminiNames: NameRules = { tool: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/ }

const maxLength = 64
const hashLength = 8

/** The name in letters, digits, underscores and dashes, with a hash of the whole at its end. */
export function encodeName(name: string): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, hashLength)
  const plain = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').replace(/^(?![a-zA-Z_])/, '_')
  return `${plain.slice(0, maxLength - hashLength - 1)}_${hash}`
}

export function fitToolName(name: string, { tool }: NameRules): string {
  return tool.test(name) ? name : encodeName(name)
}

type Rename = (name: string) => string

const schemaKeywords = new Set(
  [
    'items contains additionalItems additionalProperties propertyNames not if then else',
    'unevaluatedItems unevaluatedProperties anyOf oneOf allOf prefixItems',
  ].flatMap((line) => line.split(' ')),
)
const schemaMaps = new Set(['$defs', 'definitions', 'patternProperties'])
const propertyMaps = new Set(['properties', 'dependentSchemas'])

/** The JSON Schema with other names of properties. */
function renameInSchema(schema: unknown, rename: Rename): unknown {
  if (Array.isArray(schema)) return schema.map((each) => renameInSchema(each, rename))
  if (!isObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, renameInKeyword(keyword, value, rename)]),
  )
}

function renameInKeyword(keyword: string, value: unknown, rename: Rename): unknown {
  if (schemaKeywords.has(keyword)) return renameInSchema(value, rename)
  if (keyword === 'required') return renameInList(value, rename)
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  if (schemaMaps.has(keyword))
    return Object.fromEntries(entries.map(([name, each]) => [name, renameInSchema(each, rename)]))
  if (propertyMaps.has(keyword))
    return Object.fromEntries(entries.map(([name, each]) => [rename(name), renameInSchema(each, rename)]))
  if (keyword === 'dependentRequired')
    return Object.fromEntries(entries.map(([name, each]) => [rename(name), renameInList(each, rename)]))
  return value
}

function renameInList(names: unknown, rename: Rename): unknown {
  if (!Array.isArray(names)) return names
  return names.map((name: unknown) => (typeof name === 'string' ? rename(name) : name))
}

/** The names of properties that a provider rejects in a schema, as they are sent. */
export type PropertyNames = ReadonlyMap<string, string>

const none: PropertyNames = new Map()

/** A schema as it is sent, and the names in it that differ. */
export function fitSchema(
  schema: Json,
  { property }: NameRules,
): { readonly schema: Json; readonly names: PropertyNames } {
  if (!property) return { schema, names: none }
  const names = new Map<string, string>()
  const renamed = renameInSchema(schema, (name) => {
    if (property.test(name)) return name
    const encoded = encodeName(name)
    names.set(name, encoded)
    return encoded
  })
  return names.size === 0 || !isObject(renamed) ? { schema, names: none } : { schema: renamed, names }
}

/** The value with other keys. */
export function renameKeys(value: unknown, names: PropertyNames): unknown {
  if (names.size === 0) return value
  if (Array.isArray(value)) return value.map((each) => renameKeys(each, names))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [names.get(key) ?? key, renameKeys(each, names)]),
  )
}

function invert(names: PropertyNames): PropertyNames {
  return new Map(Array.from(names, ([original, sent]) => [sent, original]))
}

/** The caller's names of what a provider writes. */
export interface OriginalNames {
  tool(sentName: string): string
  /** Of the input of a tool, by the caller's name; of the text of the response, if it has a schema. */
  properties(tool: string | null): PropertyNames
}

/** `request`: in the OpenAI format. */
export function originalNames(request: Json, rules: NameRules): OriginalNames {
  const tools: readonly Json[] = usesFunctions(request)
    ? getObjects(request, 'functions')
    : getObjects(request, 'tools').map((tool) => getObject(tool, 'function') ?? {})
  const names = tools.map((tool) => getString(tool, 'name') ?? '')
  const format = getObject(getObject(request, 'response_format') ?? {}, 'json_schema') ?? {}
  return {
    tool: (sentName) =>
      names.find((name) => name !== sentName && fitToolName(name, rules) === sentName) ?? sentName,
    properties(tool) {
      const schema =
        tool === null
          ? getObject(format, 'schema')
          : getObject(tools[names.indexOf(tool)] ?? {}, 'parameters')
      return schema ? invert(fitSchema(schema, rules).names) : none
    },
  }
}
