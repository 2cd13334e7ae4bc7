/**
 * Validates requests as strictly as OpenAI's "Create a model response". Sources: the OpenAPI document (openai/openai-openapi,
 * version 2.3.0, schemas `CreateResponse`, `InputItem`, `Tool`), and where it is silent the texts of the API's errors,
 * which are quoted here as they appear in public issues.
 */

import { isObject } from '../../../src/providers/json-fields.ts'
import { findOpenAIProblem, type OpenAIProblem } from './strict-openai-chat.ts'
import { isGiven, type Json, objectIn, objectsIn, reject, stringIn } from './strict-rules.ts'
import { rejectUnknownFields, requireString } from './strict-openai-messages.ts'

const fields = [
  'model input instructions stream store include tools tool_choice parallel_tool_calls max_tool_calls text reasoning',
  'max_output_tokens temperature top_p top_logprobs metadata user safety_identifier prompt_cache_key service_tier',
  'prompt_cache_retention truncation background stream_options',
].flatMap((line) => line.split(' '))

/** The fields of each item, besides `type`. */
const itemFields: Readonly<Record<string, readonly string[]>> = {
  message: ['id', 'role', 'content', 'status', 'phase'],
  reasoning: ['id', 'summary', 'content', 'encrypted_content', 'status'],
  function_call: ['id', 'call_id', 'name', 'arguments', 'status'],
  function_call_output: ['id', 'call_id', 'output', 'status'],
}
const partFields: Readonly<Record<string, readonly string[]>> = {
  input_text: ['text'],
  input_image: ['image_url', 'file_id', 'detail'],
  input_file: ['file_data', 'file_url', 'file_id', 'filename'],
}
const toolFields: Readonly<Record<string, readonly string[]>> = {
  function: ['name', 'description', 'parameters', 'strict'],
  web_search_preview: ['search_context_size', 'user_location'],
}
const roles = ['user', 'assistant', 'system', 'developer']
const includable = ['reasoning.encrypted_content', 'message.output_text.logprobs']
const minOutputTokens = 16
const maxCallIdLength = 64

function rejectValue(param: string, value: string): never {
  reject(`Invalid value: '${value}'.`, param, 'invalid_value')
}

function validateTyped(
  object: Json,
  known: Readonly<Record<string, readonly string[]>>,
  { path, type }: { readonly path: string; readonly type: string },
): void {
  const names = known[type]
  if (!names) rejectValue(path, type)
  rejectUnknownFields(object, ['type', ...names], path)
}

function validateContent(content: unknown, path: string): void {
  if (typeof content === 'string') return
  if (!Array.isArray(content)) reject(`Invalid type for '${path}'.`, path, 'invalid_type')
  for (const [index, part] of objectsIn(content).entries())
    validateTyped(part, partFields, { path: `${path}[${index}]`, type: stringIn(part['type']) })
}

function callIdOf(item: Json, path: string): string {
  const id = requireString(item['call_id'], `${path}.call_id`)
  if (id === '' || id.length > maxCallIdLength)
    reject(`Invalid '${path}.call_id': string too long.`, `${path}.call_id`, 'string_above_max_length')
  return id
}

/** "No tool output found for function call …", and the reverse; a reasoning item needs "its required following item". */
function validateItems(items: readonly Json[]): void {
  const calls = new Set<string>()
  const answered = new Set<string>()
  for (const [index, item] of items.entries()) {
    const path = `input[${index}]`
    const type = stringIn(item['type']) || 'message'
    validateTyped(item, itemFields, { path, type })
    if (type === 'message') {
      if (!roles.includes(stringIn(item['role']))) rejectValue(`${path}.role`, stringIn(item['role']))
      validateContent(item['content'], `${path}.content`)
    } else if (type === 'function_call') {
      calls.add(callIdOf(item, path))
      for (const field of ['name', 'arguments']) requireString(item[field], `${path}.${field}`)
    } else if (type === 'function_call_output') {
      const id = callIdOf(item, path)
      if (!calls.has(id)) reject(`No tool call found for function call output with call_id ${id}.`, 'input')
      answered.add(id)
      validateContent(item['output'], `${path}.output`)
    } else {
      const next = items[index + 1]
      const isOfModel = next && (next['role'] === 'assistant' || stringIn(next['type']) !== '')
      if (!Array.isArray(item['summary'])) requireString(undefined, `${path}.summary`)
      if (!isOfModel || next['type'] === 'function_call_output')
        reject(`Item of type 'reasoning' was provided without its required following item.`, 'input')
    }
  }
  for (const id of calls.difference(answered))
    reject(`No tool output found for function call ${id}.`, 'input')
}

function validateTools(body: Json): void {
  for (const [index, tool] of objectsIn(body['tools']).entries()) {
    const path = `tools[${index}]`
    const type = stringIn(tool['type'])
    validateTyped(tool, toolFields, { path, type })
    // `FunctionTool` requires it: here it is true by default.
    if (type === 'function' && typeof tool['strict'] !== 'boolean') requireString(undefined, `${path}.strict`)
  }
  const choice = body['tool_choice']
  if (isGiven(body, 'tool_choice') && objectsIn(body['tools']).length === 0)
    reject("Tool choice 'required' must be specified with 'tools' parameter.", 'tool_choice')
  if (isObject(choice)) rejectUnknownFields(choice, ['type', 'name'], 'tool_choice')
}

function validateSettings(body: Json): void {
  rejectUnknownFields(objectIn(body['text']), ['format', 'verbosity'], 'text')
  const format = objectIn(objectIn(body['text'])['format'])
  const known = ['type', 'name', 'schema', 'strict', 'description']
  rejectUnknownFields(format, format['type'] === 'json_schema' ? known : ['type'], 'text.format')
  if (format['type'] === 'json_schema') requireString(format['name'], 'text.format.name')
  rejectUnknownFields(objectIn(body['reasoning']), ['effort', 'summary'], 'reasoning')
  const include: unknown[] = Array.isArray(body['include']) ? body['include'] : []
  for (const each of include) if (!includable.includes(stringIn(each))) rejectValue('include', stringIn(each))
  const maximum = body['max_output_tokens']
  if (typeof maximum === 'number' && maximum < minOutputTokens)
    reject(
      `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${maximum} instead.`,
      'max_output_tokens',
      'integer_below_min_value',
    )
}

/** The error with which OpenAI would reject the body of a request to `/responses`. */
export function findOpenAIResponsesProblem(body: Json): OpenAIProblem | undefined {
  return findOpenAIProblem(() => {
    for (const field of Object.keys(body))
      if (!fields.includes(field)) reject(`Unknown parameter: '${field}'.`, field, 'unknown_parameter')
    requireString(body['model'], 'model')
    if (typeof body['input'] !== 'string') validateItems(objectsIn(body['input']))
    validateTools(body)
    validateSettings(body)
  })
}
