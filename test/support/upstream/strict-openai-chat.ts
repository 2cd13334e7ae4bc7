/**
 * Validates requests as strictly as OpenAI's "Create chat completion". Sources: the OpenAPI document
 * (openai/openai-openapi, version 2.3.0, schema `CreateChatCompletionRequest`), and where it is silent the texts of the
 * API's errors, which are quoted here as they appear in public issues. Rules for a model apply to OpenAI's names only.
 */

import { isObject } from '../../../src/providers/json-fields.ts'
import {
  rejectUnknownFields,
  requireItems,
  requireLength,
  requireName,
  validateOpenAIMessages,
} from './strict-openai-messages.ts'
import { findProblem, isGiven, type Json, objectIn, objectsIn, reject, stringIn } from './strict-rules.ts'
import { findOpenAISchemaProblem } from './strict-schemas.ts'

/** OpenAPI: all properties of the request. */
const fields = new Set(
  [
    'audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages',
    'metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key',
    'prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier',
    'stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity',
    'web_search_options',
  ].flatMap((line) => line.split(' ')),
)

/** OpenAPI: `minimum` and `maximum`. */
const ranges: Readonly<Record<string, readonly [number, number]>> = {
  temperature: [0, 2],
  top_p: [0, 1],
  n: [1, 128],
  presence_penalty: [-2, 2],
  frequency_penalty: [-2, 2],
  top_logprobs: [0, 20],
}

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const maxStops = 4
const maxTools = 128
const maxUserLength = 64
const maxMetadata = { entries: 16, key: 64, value: 512 }

const reasoningModels = /^(?:o\d|gpt-5(?!.*chat))/
const otherModels = /^(?:gpt-[34]|chatgpt-)/
/** From 5.1 on, sampling parameters are accepted without reasoning (OpenAI, "Using GPT-5.2"). */
const switchableModels = /^gpt-5\.\d/

function validateRanges(body: Json): void {
  for (const [field, [minimum, maximum]] of Object.entries(ranges)) {
    const value = body[field]
    if (value === undefined || value === null) continue
    if (typeof value !== 'number')
      reject(`Invalid type for '${field}': expected a number.`, field, 'invalid_type')
    const kind = field === 'n' || field === 'top_logprobs' ? 'integer' : 'decimal'
    if (value < minimum)
      reject(
        `Invalid '${field}': ${kind} below minimum value. Expected a value >= ${minimum}, but got ${value} instead.`,
        field,
        `${kind}_below_min_value`,
      )
    if (value > maximum)
      reject(
        `Invalid '${field}': ${kind} above maximum value. Expected a value <= ${maximum}, but got ${value} instead.`,
        field,
        `${kind}_above_max_value`,
      )
  }
}

/** "Invalid schema for function 'x': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'." */
function validateTool(tool: Json, path: string): void {
  if (tool['type'] === 'custom') return
  rejectUnknownFields(tool, ['type', 'function'], path)
  if (tool['type'] !== 'function')
    reject(`Invalid value for '${path}.type'.`, `${path}.type`, 'invalid_value')
  const about = objectIn(tool['function'])
  rejectUnknownFields(about, ['name', 'description', 'parameters', 'strict'], `${path}.function`)
  requireName(about['name'], `${path}.function.name`)
  if (!isGiven(about, 'parameters')) return
  const param = `${path}.function.parameters`
  const invalid = (problem: string): never =>
    reject(
      `Invalid schema for function '${String(about['name'])}': ${problem}`,
      param,
      'invalid_function_parameters',
    )
  const parameters = objectIn(about['parameters'])
  if (Object.keys(parameters).length > 0 && parameters['type'] !== 'object')
    invalid(
      `schema must be a JSON Schema of 'type: "object"', got 'type: "${stringIn(parameters['type']) || 'None'}"'.`,
    )
  const problem = about['strict'] === true ? findOpenAISchemaProblem(parameters) : undefined
  if (problem !== undefined) invalid(problem)
}

function validateTools(body: Json): void {
  if (!isGiven(body, 'tools')) {
    // "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
    for (const field of ['tool_choice', 'parallel_tool_calls']) {
      if (isGiven(body, field))
        reject(`Invalid value for '${field}': '${field}' is only allowed when 'tools' are specified.`, field)
    }
    return
  }
  const tools = objectsIn(body['tools'])
  requireItems(tools, 'tools')
  // "Invalid 'tools': array too long. Expected an array with maximum length 128, …"
  if (tools.length > maxTools)
    reject(
      `Invalid 'tools': array too long. Expected an array with maximum length ${maxTools}.`,
      'tools',
      'array_above_max_length',
    )
  for (const [index, tool] of tools.entries()) validateTool(tool, `tools[${index}]`)
  const choice = body['tool_choice']
  if (isObject(choice)) {
    if (choice['type'] === 'function')
      requireName(objectIn(choice['function'])['name'], 'tool_choice.function.name')
    else if (!['allowed_tools', 'custom'].includes(stringIn(choice['type'])))
      reject("Invalid value for 'tool_choice.type'.", 'tool_choice.type', 'invalid_value')
  } else if (isGiven(body, 'tool_choice') && !['none', 'auto', 'required'].includes(stringIn(choice)))
    reject(
      `Invalid value: '${String(choice)}'. Supported values are: 'none', 'auto', and 'required'.`,
      'tool_choice',
      'invalid_value',
    )
}

/** OpenAPI: `ResponseFormatJsonSchema`. "Invalid schema for response_format 'x': In context=(), …" */
function validateFormat(body: Json): void {
  const format = objectIn(body['response_format'])
  if (
    isGiven(body, 'response_format') &&
    !['text', 'json_object', 'json_schema'].includes(stringIn(format['type']))
  )
    reject("Invalid value for 'response_format.type'.", 'response_format.type', 'invalid_value')
  if (format['type'] === 'json_object' && !/json/i.test(JSON.stringify(body['messages'])))
    reject(
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
      'messages',
    )
  if (format['type'] !== 'json_schema') return
  const about = objectIn(format['json_schema'])
  rejectUnknownFields(about, ['name', 'description', 'schema', 'strict'], 'response_format.json_schema')
  requireName(about['name'], 'response_format.json_schema.name')
  const problem = about['strict'] === true ? findOpenAISchemaProblem(objectIn(about['schema'])) : undefined
  if (problem !== undefined)
    reject(`Invalid schema for response_format '${String(about['name'])}': ${problem}`, 'response_format')
}

/** OpenAPI: the descriptions of `stop`, `stream_options`, `top_logprobs` and `Metadata`. */
function validateOptions(body: Json): void {
  if (isGiven(body, 'stream_options')) {
    if (body['stream'] !== true)
      reject("The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options')
    rejectUnknownFields(
      objectIn(body['stream_options']),
      ['include_usage', 'include_obfuscation'],
      'stream_options',
    )
  }
  if (isGiven(body, 'top_logprobs') && body['logprobs'] !== true)
    reject("The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.", 'top_logprobs')
  const { stop } = body
  if (Array.isArray(stop)) {
    requireItems(stop, 'stop')
    if (stop.length > maxStops)
      reject(
        `Invalid 'stop': array too long. Expected an array with maximum length ${maxStops}, but got an array with length ${stop.length} instead.`,
        'stop',
        'array_above_max_length',
      )
  }
  // "Invalid 'user': string too long. Expected a string with maximum length 64, but got a string with length 123 instead."
  for (const field of ['user', 'safety_identifier'])
    requireLength(stringIn(body[field]), maxUserLength, field)
  validateMetadata(body)
}

function validateMetadata(body: Json): void {
  if (!isGiven(body, 'metadata')) return
  const entries = Object.entries(objectIn(body['metadata']))
  if (entries.length > maxMetadata.entries)
    reject(
      "Invalid 'metadata': too many properties. Expected an object with at most 16 properties.",
      'metadata',
      'object_above_max_properties',
    )
  for (const [key, value] of entries) {
    if (typeof value !== 'string')
      return reject(
        `Invalid type for 'metadata.${key}': expected a string.`,
        `metadata.${key}`,
        'invalid_type',
      )
    requireLength(key, maxMetadata.key, 'metadata')
    requireLength(value, maxMetadata.value, `metadata.${key}`)
  }
  // Reported in QwenLM/qwen-code #224.
  if (body['store'] !== true)
    reject("The 'metadata' parameter is only allowed when 'store' is enabled.", 'metadata')
}

/**
 * "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead." (recorded);
 * "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
 */
function validateModelSupport(body: Json): void {
  const model = stringIn(body['model'])
  const effort = body['reasoning_effort']
  if (isGiven(body, 'reasoning_effort') && !efforts.includes(stringIn(effort)))
    reject(
      `Invalid value: '${String(effort)}'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'.`,
      'reasoning_effort',
      'invalid_value',
    )
  if (otherModels.test(model) && isGiven(body, 'reasoning_effort'))
    reject('Unrecognized request argument supplied: reasoning_effort')
  if (!reasoningModels.test(model)) return
  if (isGiven(body, 'max_tokens'))
    reject(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      'max_tokens',
      'unsupported_parameter',
    )
  // OpenAPI: "Not supported with latest reasoning models `o3` and `o4-mini`."
  if (/^(?:o3|o4-mini|gpt-5(?!\.))/.test(model) && isGiven(body, 'stop'))
    reject("Unsupported parameter: 'stop' is not supported with this model.", 'stop', 'unsupported_parameter')
  if (switchableModels.test(model) && (effort === undefined || effort === 'none')) return
  if (isGiven(body, 'temperature') && body['temperature'] !== 1)
    reject(
      `Unsupported value: 'temperature' does not support ${String(body['temperature'])} with this model. Only the default (1) value is supported.`,
      'temperature',
      'unsupported_value',
    )
  if (isGiven(body, 'top_p') && body['top_p'] !== 1)
    reject(
      "Unsupported parameter: 'top_p' is not supported with this model.",
      'top_p',
      'unsupported_parameter',
    )
}

export interface OpenAIProblem {
  readonly status: number
  readonly error: {
    message: string
    type: 'invalid_request_error'
    param: string | null
    code: string | null
  }
}

/** The error with which OpenAI would reject the body of a request to `/chat/completions`. */
export function findOpenAIChatProblem(body: Json): OpenAIProblem | undefined {
  return findOpenAIProblem(() => {
    const unknown = Object.keys(body).find((field) => !fields.has(field))
    if (unknown !== undefined) reject(`Unrecognized request argument supplied: ${unknown}`)
    if (typeof body['model'] !== 'string') reject('you must provide a model parameter')
    validateOpenAIMessages(body['messages'])
    validateTools(body)
    validateRanges(body)
    validateOptions(body)
    validateFormat(body)
    validateModelSupport(body)
  })
}

/** The first problem that `validate` rejects with, as OpenAI's error. */
export function findOpenAIProblem(validate: () => void): OpenAIProblem | undefined {
  const problem = findProblem(validate)
  if (!problem) return undefined
  const { status, message, param, code } = problem
  return { status, error: { message, type: 'invalid_request_error', param, code } }
}
