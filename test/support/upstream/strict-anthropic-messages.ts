/**
 * Validates requests as strictly as Anthropic's "Create a Message". Sources: the types of Anthropic's Python library of
 * August 2026 (`MessageCreateParams`), which are generated from the OpenAPI document, and the texts of the API's errors,
 * which are quoted here as they appear in public issues. Rules for a model apply to Anthropic's names only.
 */

import {
  rejectExtraFields,
  requireField,
  validateCacheControl,
  validateConversation,
  validateSystem,
} from './strict-anthropic-conversation.ts'
import { findProblem, isGiven, type Json, objectIn, objectsIn, reject, stringIn } from './strict-rules.ts'
import { findAnthropicSchemaProblem } from './strict-schemas.ts'

const fields = [
  'cache_control container inference_geo max_tokens messages metadata model output_config service_tier',
  'stop_sequences stream system temperature thinking tool_choice tools top_k top_p',
].flatMap((line) => line.split(' '))

/** `ToolParam`. */
const toolFields = [
  'name input_schema type description cache_control strict',
  'allowed_callers defer_loading eager_input_streaming input_examples',
].flatMap((line) => line.split(' '))

/** Fields that need a beta, which the caller names in the header `anthropic-beta`. */
const betaFields: Readonly<Record<string, string>> = {
  'context-management-2025-06-27': 'context_management',
}

const toolName = /^[a-zA-Z0-9_-]{1,128}$/
const propertyKey = /^[a-zA-Z0-9_.-]{1,64}$/
const maxCacheMarkers = 4
const minBudget = 1024

/** "`temperature` is deprecated for this model.": Opus 4.7 and later, all models of generation 5. */
const modelsWithoutSampling = /claude-(?:opus-4-[78](?!\d)|[a-z]+-5(?!\d))/
/** "`temperature` and `top_p` cannot both be specified for this model." Opus 4.1, all of 4.5 and 4.6. */
const modelsWithOneSampling = /claude-(?:opus-4-1(?!\d)|[a-z]+-4-[56](?!\d))/
/** "This model does not support assistant message prefill." Opus and Sonnet 4.6 and later ("Migration guide"). */
const modelsWithoutPrefill = /claude-(?:[a-z]+-4-[678](?!\d)|[a-z]+-5(?!\d))/
/** "adaptive thinking is not supported on this model": up to 4.5. */
const modelsWithoutAdaptive = /claude-(?:3|[a-z]+-4(?:-[0-5])?(?!\d|-[6-9](?!\d)))/

/** "temperature: range: 0..1"; `top_p` likewise. */
function validateSampling(body: Json): void {
  const model = stringIn(body['model'])
  const given = ['temperature', 'top_p', 'top_k'].filter((field) => isGiven(body, field))
  for (const field of given.filter((each) => each !== 'top_k')) {
    const value = body[field]
    if (typeof value !== 'number') return reject(`${field}: Input should be a valid number`)
    if (value < 0 || value > 1) reject(`${field}: range: 0..1`)
  }
  if (given[0] !== undefined && modelsWithoutSampling.test(model))
    reject(`\`${given[0]}\` is deprecated for this model.`)
  if (given.includes('temperature') && given.includes('top_p') && modelsWithOneSampling.test(model))
    reject('`temperature` and `top_p` cannot both be specified for this model. Please use only one.')
}

/** `ThinkingConfigEnabledParam`; "Extended thinking", feature compatibility. */
function validateThinking(body: Json): void {
  if (!isGiven(body, 'thinking')) return
  const thinking = objectIn(body['thinking'])
  const type = stringIn(thinking['type'])
  if (type === 'disabled') return rejectExtraFields(thinking, ['type'], 'thinking.disabled')
  if (type !== 'enabled' && type !== 'adaptive')
    reject(
      `thinking: Input tag '${type}' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'`,
    )
  const known = ['type', 'display', ...(type === 'enabled' ? ['budget_tokens'] : [])]
  rejectExtraFields(thinking, known, `thinking.${type}`)
  const model = stringIn(body['model'])
  if (type === 'adaptive' && modelsWithoutAdaptive.test(model))
    reject('adaptive thinking is not supported on this model')
  if (type === 'enabled') {
    const budget = requireField(thinking, 'budget_tokens', 'thinking.enabled')
    if (typeof budget !== 'number' || budget < minBudget)
      return reject(`thinking.enabled.budget_tokens: Input should be greater than or equal to ${minBudget}`)
    if (budget >= Number(body['max_tokens']))
      reject('`max_tokens` must be greater than `thinking.budget_tokens`.')
  }
  if (isGiven(body, 'temperature') && body['temperature'] !== 1)
    reject('`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.')
  if (isGiven(body, 'top_k')) reject('`top_k` must be unset when thinking is enabled or in adaptive mode.')
  if (['any', 'tool'].includes(stringIn(objectIn(body['tool_choice'])['type'])))
    reject('Thinking may not be enabled when tool_choice forces tool use.')
}

function validateTool(tool: Json, index: number): void {
  const type = stringIn(tool['type'])
  // Tools that Anthropic runs have a dated type and fields of their own.
  if (type !== '' && type !== 'custom') return
  const path = `tools.${index}.custom`
  rejectExtraFields(tool, toolFields, path)
  validateCacheControl(tool, path)
  if (!toolName.test(stringIn(requireField(tool, 'name', path))))
    reject(`${path}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
  const schema = objectIn(requireField(tool, 'input_schema', path))
  // `InputSchemaTyped`
  if (requireField(schema, 'type', `${path}.input_schema`) !== 'object')
    reject(`${path}.input_schema.type: Input should be 'object'`)
  if (['oneOf', 'allOf', 'anyOf'].some((keyword) => isGiven(schema, keyword)))
    reject(`${path}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`)
  if (isGiven(tool, 'description') && typeof tool['description'] !== 'string')
    reject(`${path}.description: Input should be a valid string`)
  if (!Object.keys(objectIn(schema['properties'])).every((key) => propertyKey.test(key)))
    reject(`${path}.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`)
  const problem = tool['strict'] === true ? findAnthropicSchemaProblem(schema) : undefined
  if (problem !== undefined) reject(`${path}: ${problem}`)
}

function validateTools(body: Json): void {
  const tools = objectsIn(body['tools'])
  for (const [index, tool] of tools.entries()) validateTool(tool, index)
  const names = tools.map(({ name }) => name)
  if (new Set(names).size < names.length) reject('tools: Tool names must be unique.')
  if (!isGiven(body, 'tool_choice')) return
  const choice = objectIn(body['tool_choice'])
  const type = stringIn(choice['type'])
  if (!['auto', 'any', 'tool', 'none'].includes(type))
    reject(
      `tool_choice: Input tag '${type}' found using 'type' does not match any of the expected tags: 'any', 'auto', 'none', 'tool'`,
    )
  if (tools.length === 0) reject(`tool_choice.${type} may only be specified while providing tools.`)
  const known = [
    'type',
    ...(type === 'none' ? [] : ['disable_parallel_tool_use']),
    ...(type === 'tool' ? ['name'] : []),
  ]
  rejectExtraFields(choice, known, `tool_choice.${type}`)
  if (type === 'tool' && !names.includes(choice['name']))
    reject(`Tool '${String(choice['name'])}' not found in provided tools`)
}

/** `OutputConfigParam`, `MetadataParam`; "stop_sequences: each stop sequence must contain non-whitespace". */
function validateOptions(body: Json): void {
  const config = objectIn(body['output_config'])
  rejectExtraFields(config, ['effort', 'format'], 'output_config')
  if (
    isGiven(config, 'effort') &&
    !['low', 'medium', 'high', 'xhigh', 'max'].includes(stringIn(config['effort']))
  )
    reject("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
  if (isGiven(config, 'format')) {
    const format = objectIn(config['format'])
    rejectExtraFields(format, ['type', 'schema'], 'output_config.format')
    if (format['type'] !== 'json_schema') reject("output_config.format.type: Input should be 'json_schema'")
    const problem = findAnthropicSchemaProblem(
      objectIn(requireField(format, 'schema', 'output_config.format')),
    )
    if (problem !== undefined) reject(`output_config.format.schema: ${problem}`)
  }
  const metadata = objectIn(body['metadata'])
  rejectExtraFields(metadata, ['user_id'], 'metadata')
  const user = stringIn(metadata['user_id'])
  if (user.length > 256) reject('metadata.user_id: String should have at most 256 characters')
  if (/\S@\S+\.\S/.test(user)) reject('metadata.user_id: user_id appears to contain an email address')
  const stops = Array.isArray(body['stop_sequences']) ? body['stop_sequences'] : []
  if (stops.some((stop) => stringIn(stop).trim() === ''))
    reject('stop_sequences: each stop sequence must contain non-whitespace')
}

/** "A maximum of 4 blocks with cache_control may be provided. Found 5." */
function validateCacheMarkers(body: Json): void {
  const isMarker = ([key, value]: [string, unknown]): boolean => key === 'cache_control' && value !== null
  const count = (value: unknown): number => {
    if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + count(each), 0)
    const entries = Object.entries(objectIn(value))
    return entries.reduce((sum, entry) => sum + (isMarker(entry) ? 1 : count(entry[1])), 0)
  }
  const found =
    count(body['system']) +
    count(body['messages']) +
    objectsIn(body['tools']).filter((tool) => isGiven(tool, 'cache_control')).length
  if (found > maxCacheMarkers)
    reject(`A maximum of ${maxCacheMarkers} blocks with cache_control may be provided. Found ${found}.`)
}

export interface AnthropicProblem {
  readonly status: number
  readonly error: {
    type: 'error'
    error: { type: 'invalid_request_error'; message: string }
    request_id: string
  }
}

/**
 * The error with which Anthropic would reject the body of a request to `/messages`. `headers`: of the request, if they
 * are known.
 */
export function findAnthropicMessagesProblem(
  body: Json,
  headers?: Readonly<Record<string, unknown>>,
): AnthropicProblem | undefined {
  const problem = findProblem(() => {
    if (headers && !isGiven(headers, 'anthropic-version')) reject('anthropic-version: header is required')
    const betas = stringIn(headers?.['anthropic-beta']).split(',')
    rejectExtraFields(body, [...fields, ...betas.flatMap((beta) => betaFields[beta] ?? [])], '')
    for (const field of ['model', 'max_tokens', 'messages']) requireField(body, field, '')
    if (!Number.isInteger(body['max_tokens'])) reject('max_tokens: Input should be a valid integer')
    validateCacheControl(body, 'cache_control')
    validateSystem(body['system'])
    const turns = validateConversation(body['messages'])
    if (turns.at(-1)?.role === 'assistant' && modelsWithoutPrefill.test(stringIn(body['model'])))
      reject(
        'This model does not support assistant message prefill. The conversation must end with a user message.',
      )
    validateTools(body)
    validateSampling(body)
    validateThinking(body)
    validateOptions(body)
    validateCacheMarkers(body)
  })
  if (!problem) return undefined
  const error = { type: 'invalid_request_error' as const, message: problem.message }
  return { status: problem.status, error: { type: 'error', error, request_id: 'req_strict' } }
}
