/**
 * The rules of OpenAI's "Create chat completion" for messages. Sources: the OpenAPI document (openai/openai-openapi,
 * version 2.3.0, schemas `ChatCompletionRequest…Message`), and where it is silent the texts of the API's errors, which
 * are quoted here as they appear in public issues.
 */

import { isObject } from '../../../src/providers/json-fields.ts'
import { isGiven, type Json, objectIn, objectsIn, reject, stringIn } from './strict-rules.ts'

/** OpenAPI: the properties of each role's message. */
const fieldsByRole: Readonly<Record<string, readonly string[]>> = {
  system: ['content', 'name'],
  developer: ['content', 'name'],
  user: ['content', 'name'],
  assistant: ['content', 'name', 'refusal', 'audio', 'tool_calls', 'function_call'],
  tool: ['content', 'tool_call_id'],
  function: ['content', 'name'],
}

/** OpenAPI: the parts of each role's content. */
const partsByRole: Readonly<Record<string, readonly string[]>> = {
  system: ['text'],
  developer: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  tool: ['text'],
  function: [],
}

/** OpenAPI: the properties of each part. */
const partFields: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  refusal: ['refusal'],
  image_url: ['image_url'],
  input_audio: ['input_audio'],
  file: ['file'],
}

const maxCallIdLength = 40
const functionName = /^[a-zA-Z0-9_-]+$/
const maxNameLength = 64
const participantName = /^[^\s<|\\/>]+$/
const imageUrl = /^(?:https?:\/\/|data:image\/(?:png|jpeg|jpg|gif|webp);base64,)/

/** "Unknown parameter: 'messages[0].content[0].cache_control'." */
export function rejectUnknownFields(object: Json, known: readonly string[], path: string): void {
  for (const field of Object.keys(object)) {
    if (known.includes(field)) continue
    const param = `${path}.${field}`
    reject(`Unknown parameter: '${param}'.`, param, 'unknown_parameter')
  }
}

export function requireString(value: unknown, param: string): string {
  if (value === undefined)
    reject(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter')
  if (typeof value !== 'string')
    reject(
      `Invalid type for '${param}': expected a string, but got ${kindOf(value)} instead.`,
      param,
      'invalid_type',
    )
  return value
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** OpenAPI: "Must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64." */
export function requireName(value: unknown, param: string): void {
  const name = requireString(value, param)
  if (!functionName.test(name)) {
    const rule = `Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`
    reject(`Invalid '${param}': string does not match pattern. ${rule}`, param, 'invalid_value')
  }
  requireLength(name, maxNameLength, param)
}

/** "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, …" */
export function requireLength(text: string, maximum: number, param: string): void {
  if (text.length <= maximum) return
  const rule = `Expected a string with maximum length ${maximum}, but got a string with length ${text.length} instead.`
  reject(`Invalid '${param}': string too long. ${rule}`, param, 'string_above_max_length')
}

/** OpenAPI: `minItems: 1`. */
export function requireItems(list: readonly unknown[], param: string): void {
  if (list.length > 0) return
  const rule = 'Expected an array with minimum length 1, but got an empty array instead.'
  reject(`Invalid '${param}': empty array. ${rule}`, param, 'empty_array')
}

/** "Expected a base64-encoded data URL with an application/pdf MIME type (…), but got unsupported MIME type 'text/plain'." */
function validateFile(file: Json, path: string): void {
  rejectUnknownFields(file, ['filename', 'file_data', 'file_id'], path)
  const param = `${path}.file_data`
  if (!isGiven(file, 'file_data') || stringIn(file['file_data']).startsWith('data:application/pdf;base64,'))
    return
  const rule = 'Expected a base64-encoded data URL with an application/pdf MIME type'
  reject(`Invalid file data: '${param}'. ${rule}, but got something else.`, param, 'invalid_value')
}

function validatePart(part: unknown, path: string, role: string): void {
  if (!isObject(part)) return reject(`Invalid type for '${path}': expected an object.`, path, 'invalid_type')
  const type = stringIn(part['type'])
  if (type === 'image_url' && role !== 'user') {
    const [message = path] = path.split('.')
    const rule = "Image URLs are only allowed for messages with role 'user'"
    reject(
      `Invalid '${message}'. ${rule}, but this message with role '${role}' contains an image URL.`,
      message,
      'invalid_value',
    )
  }
  if (!partsByRole[role]?.includes(type)) {
    const supported = partsByRole[role]?.map((each) => `'${each}'`).join(', ')
    reject(`Invalid value: '${type}'. Supported values are: ${supported}.`, `${path}.type`, 'invalid_value')
  }
  rejectUnknownFields(part, ['type', 'prompt_cache_breakpoint', ...(partFields[type] ?? [])], path)
  if (type === 'text' || type === 'refusal') requireString(part[type], `${path}.${type}`)
  if (type === 'image_url') {
    const image = objectIn(part['image_url'])
    rejectUnknownFields(image, ['url', 'detail'], `${path}.image_url`)
    const param = `${path}.image_url.url`
    // "Expected a valid URL, but got a value with an invalid format." and "unsupported image […] 'png', 'jpeg', 'gif', 'webp'"
    if (!imageUrl.test(requireString(image['url'], param)))
      reject(
        `Invalid '${param}'. Expected a valid URL, but got a value with an invalid format.`,
        param,
        'invalid_value',
      )
  }
  if (type === 'input_audio' && !['wav', 'mp3'].includes(stringIn(objectIn(part['input_audio'])['format'])))
    reject("Supported values are: 'wav' and 'mp3'.", `${path}.input_audio.format`, 'invalid_value')
  if (type === 'file') validateFile(objectIn(part['file']), `${path}.file`)
}

/** OpenAPI: content is required, except for the assistant's messages with calls. "Invalid value for 'content': expected a string, got null." */
function validateContent(message: Json, path: string, role: string): void {
  const { content } = message
  if (content === undefined || content === null) {
    const isOptional =
      role === 'assistant' &&
      ['tool_calls', 'function_call', 'refusal', 'audio'].some((each) => isGiven(message, each))
    if (isOptional || (role === 'function' && content === null)) return
    reject("Invalid value for 'content': expected a string, got null.", `${path}.content`)
  }
  if (typeof content === 'string') return
  const param = `${path}.content`
  if (!Array.isArray(content))
    return reject(
      `Invalid type for '${param}': expected one of a string or array of objects.`,
      param,
      'invalid_type',
    )
  requireItems(content, param)
  for (const [index, part] of content.entries()) validatePart(part, `${param}[${index}]`, role)
}

function validateCall(call: Json, path: string): void {
  rejectUnknownFields(call, ['id', 'type', 'function', 'custom'], path)
  requireLength(requireString(call['id'], `${path}.id`), maxCallIdLength, `${path}.id`)
  if (call['type'] === 'custom') return
  if (call['type'] !== 'function')
    reject(`Invalid value for '${path}.type'.`, `${path}.type`, 'invalid_value')
  const called = objectIn(call['function'])
  rejectUnknownFields(called, ['name', 'arguments'], `${path}.function`)
  requireName(called['name'], `${path}.function.name`)
  requireString(called['arguments'], `${path}.function.arguments`)
}

function validateMessage(message: Json, path: string): void {
  const role = requireString(message['role'], `${path}.role`)
  const fields = fieldsByRole[role]
  if (!fields) {
    const roles = "'system', 'assistant', 'user', 'function', 'tool', and 'developer'"
    return reject(
      `Invalid value: '${role}'. Supported values are: ${roles}.`,
      `${path}.role`,
      'invalid_value',
    )
  }
  rejectUnknownFields(message, ['role', ...fields], path)
  // "string does not match pattern. Expected a string that matches the pattern '^[^\\s<|\\\\/>]+$'."
  if (isGiven(message, 'name') && !participantName.test(stringIn(message['name'])))
    reject(`Invalid '${path}.name': string does not match pattern.`, `${path}.name`, 'invalid_value')
  validateContent(message, path, role)
  if (isGiven(message, 'tool_calls')) {
    const calls = objectsIn(message['tool_calls'])
    requireItems(calls, `${path}.tool_calls`)
    for (const [index, call] of calls.entries()) validateCall(call, `${path}.tool_calls[${index}]`)
  }
  if (role === 'tool')
    requireLength(
      requireString(message['tool_call_id'], `${path}.tool_call_id`),
      maxCallIdLength,
      `${path}.tool_call_id`,
    )
}

/** Each call is answered before the next message of another role, and each answer belongs to a call. */
function validateCallOrder(messages: readonly Json[]): void {
  let called = new Set<unknown>()
  const pending = new Set<unknown>()
  const requireAnswers = (index: number): void => {
    if (pending.size === 0) return
    const rule =
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    const missing = `The following tool_call_ids did not have response messages: ${[...pending].join(', ')}`
    reject(`${rule} ${missing}`, `messages.[${index}].role`)
  }
  for (const [index, message] of messages.entries()) {
    if (message['role'] === 'tool') {
      const id = message['tool_call_id']
      if (called.size === 0)
        reject(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          `messages.[${index}].role`,
        )
      if (!called.has(id))
        reject(
          `Invalid parameter: 'tool_call_id' of '${String(id)}' not found in 'tool_calls' of previous message.`,
          `messages.[${index}].tool_call_id`,
        )
      pending.delete(id)
      continue
    }
    requireAnswers(index)
    called = new Set(objectsIn(message['tool_calls']).map((call) => call['id']))
    for (const id of called) pending.add(id)
  }
  requireAnswers(messages.length)
}

/** Rejects invalid messages. */
export function validateOpenAIMessages(value: unknown): void {
  if (value === undefined)
    reject("Missing required parameter: 'messages'.", 'messages', 'missing_required_parameter')
  const messages = objectsIn(value)
  requireItems(messages, 'messages')
  for (const [index, message] of messages.entries()) validateMessage(message, `messages[${index}]`)
  validateCallOrder(messages)
}
