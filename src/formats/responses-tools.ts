/**
 * Translates the tools of a Responses request into functions of the OpenAI format. A `custom` tool, whose input is free
 * text, becomes a function with one string; a function of a `namespace` gets a qualified name; a `tool_search` that the
 * caller runs is a function like any other. Responses are mapped back by the names that the functions got.
 */
import {
  getObject,
  getObjects,
  getString,
  isObject,
  omitUndefined,
  type Json,
} from '../providers/json-fields.ts'
import { encodeName } from '../providers/provider-names.ts'
import { UnsupportedFeatureError } from '../providers/provider.ts'
import { isStrictSchema } from './strict-schema.ts'
import { shortToolName } from './tool-names.ts'

/** A tool that the caller runs. */
export interface CallerTool {
  readonly kind: 'function' | 'custom' | 'search'
  readonly name: string
  readonly namespace: string | undefined
  readonly tool: Json
}

/** The parameter of a function that stands for a `custom` tool. */
const inputParameter = 'input'
const customParameters: Json = {
  type: 'object',
  properties: { [inputParameter]: { type: 'string' } },
  required: [inputParameter],
  additionalProperties: false,
}

/** The name of a tool as the provider gets it: qualified by its namespace, with the characters that all accept. */
export function functionName(name: string, namespace: string | undefined): string {
  const qualified = namespace === undefined ? name : `${namespace}__${name}`
  // Other characters are not only replaced, so that two names never become one.
  return /^[\w-]+$/.test(qualified) ? shortToolName(qualified) : encodeName(qualified)
}

/** The arguments of the function that stands for a `custom` tool. */
export function encodeCustomInput(input: string): string {
  return JSON.stringify({ [inputParameter]: input })
}

/** The input of a `custom` tool; text that is not what the function asks for is the input itself. */
export function parseCustomInput(text: string): string {
  try {
    const parsed: unknown = JSON.parse(text)
    return (isObject(parsed) ? getString(parsed, inputParameter) : undefined) ?? text
  } catch {
    return text
  }
}

/** A search that is left out: the model decides whether it searches, so it can do without. */
export function isOptionalSearch(tool: Json, { tool_choice: choice }: Json): boolean {
  const isFree = choice === undefined || choice === null || choice === 'auto'
  return isFree && (getString(tool, 'type') ?? '').startsWith('web_search')
}

/** The name of the function for a search among the caller's tools. */
export const searchName = 'tool_search'

/** A search among tools that the caller has not sent: it runs the search itself. */
function isToolSearch({ type, execution }: Json): boolean {
  return type === searchName && execution === 'client'
}

function parseTool(value: unknown, path: string, namespace?: string): CallerTool {
  if (!isObject(value)) throw new UnsupportedFeatureError(path, 'must be an object')
  const kind = value['type']
  if (isToolSearch(value)) return { kind: 'search', name: searchName, namespace: undefined, tool: value }
  if (kind !== 'function' && kind !== 'custom') {
    const type = getString(value, 'type') ?? 'the tool'
    throw new UnsupportedFeatureError(path, `${type} is not supported by the provider of this model`)
  }
  const name = getString(value, 'name')
  if (name === undefined) throw new UnsupportedFeatureError(`${path}.name`, 'must be a string')
  return { kind, name, namespace, tool: value }
}

function parseNamespace(namespace: Json, path: string): CallerTool[] {
  const { tools } = namespace
  const name = getString(namespace, 'name')
  if (name === undefined) throw new UnsupportedFeatureError(`${path}.name`, 'must be a string')
  if (!Array.isArray(tools)) throw new UnsupportedFeatureError(`${path}.tools`, 'must be an array')
  return tools.map((tool, index) => parseTool(tool, `${path}.tools[${index}]`, name))
}

function parseToolList(list: unknown, path: string, request: Json): CallerTool[] {
  if (list === undefined || list === null) return []
  if (!Array.isArray(list)) throw new UnsupportedFeatureError(path, 'must be an array')
  return list.flatMap((tool: unknown, index) => {
    const each = `${path}[${index}]`
    if (isObject(tool) && tool['type'] === 'namespace') return parseNamespace(tool, each)
    return isObject(tool) && isOptionalSearch(tool, request) ? [] : [parseTool(tool, each)]
  })
}

/** Items with tools for the rest of the conversation. */
const itemsWithTools = new Set<unknown>(['additional_tools', 'tool_search_output'])

/**
 * The tools that the caller runs, also those that an item of the input adds. Searches, which Codex offers in every
 * request, are left out if the model need not search.
 */
function parseCallerTools(request: Json): CallerTool[] {
  const { input } = request
  const items: unknown[] = Array.isArray(input) ? input : []
  const added = items.flatMap((item, index) => {
    if (!isObject(item) || !itemsWithTools.has(item['type'])) return []
    return parseToolList(item['tools'], `input[${index}].tools`, request)
  })
  return [...parseToolList(request['tools'], 'tools', request), ...added]
}

/** The names of the functions for the tools in a list. */
export function functionNamesIn(list: readonly Json[]): string[] {
  return list.flatMap((tool) => {
    const name = getString(tool, 'name') ?? ''
    if (tool['type'] !== 'namespace') return [functionName(name, undefined)]
    return getObjects(tool, 'tools').map((inner) => functionName(getString(inner, 'name') ?? '', name))
  })
}

/** The tools by the names that their functions get; the last one of a name. Throws `UnsupportedFeatureError`. */
export function toolsByFunctionName(request: Json): ReadonlyMap<string, CallerTool> {
  return new Map(
    parseCallerTools(request).map((tool) => [functionName(tool.name, tool.namespace), tool] as const),
  )
}

/** The description of a custom tool, with the grammar of its input, if it has one. */
function describeCustomTool(tool: Json): string {
  const format = getObject(tool, 'format') ?? {}
  const definition = getString(format, 'definition')
  const grammar =
    definition === undefined
      ? undefined
      : `The input must match this ${getString(format, 'syntax') ?? ''} grammar:\n${definition}`
  const texts = [
    getString(tool, 'description'),
    grammar,
    `Pass the whole input as it is in \`${inputParameter}\`.`,
  ]
  return texts.filter((text) => text !== undefined && text !== '').join('\n\n')
}

function encodeTool({ kind, name, namespace, tool }: CallerTool): Json {
  const isCustom = kind === 'custom'
  const parameters = isCustom ? customParameters : getObject(tool, 'parameters')
  const isStrict = !isCustom && tool['strict'] === true && isStrictSchema(parameters ?? {})
  const about = {
    name: functionName(name, namespace),
    description: isCustom ? describeCustomTool(tool) : getString(tool, 'description'),
    parameters,
    strict: isStrict ? true : undefined,
  }
  return { type: 'function', function: omitUndefined(about) }
}

function chosenName(choice: Json): string {
  return functionName(getString(choice, 'name') ?? '', getString(choice, 'namespace'))
}

interface ToolSelection {
  readonly tools: readonly CallerTool[]
  readonly choice: unknown
}

function selectTools(tools: readonly CallerTool[], choice: unknown): ToolSelection {
  if (choice === undefined || choice === null) return { tools, choice: undefined }
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { tools, choice }
  switch (isObject(choice) ? choice['type'] : undefined) {
    case 'function':
    case 'custom':
      return { tools, choice: { type: 'function', function: { name: chosenName(choice as Json) } } }
    case 'allowed_tools': {
      const { mode } = choice as Json
      const allowed = new Set(getObjects(choice as Json, 'tools').map(chosenName))
      const selected = tools.filter(({ name, namespace }) => allowed.has(functionName(name, namespace)))
      return { tools: selected, choice: mode === 'required' ? mode : 'auto' }
    }
    default:
      throw new UnsupportedFeatureError('tool_choice', 'not supported by the provider of this model')
  }
}

/** Translates `tools`, `tool_choice` and `parallel_tool_calls`. Throws `UnsupportedFeatureError`. */
export function translateTools(request: Json): Json {
  const { tools, choice } = selectTools([...toolsByFunctionName(request).values()], request['tool_choice'])
  if (tools.length === 0) return {}
  const parallel = request['parallel_tool_calls']
  return {
    tools: tools.map(encodeTool),
    tool_choice: choice,
    parallel_tool_calls: typeof parallel === 'boolean' ? parallel : undefined,
  }
}
