/**
 * Validates requests as strictly as Cohere's "Chat" (v2). Source: the types of `cohere-ai` 8.1 (`V2ChatRequest`), which
 * are generated from the OpenAPI document, with their ranges and limitations. "unknown field: parameter 'strict' is not a
 * valid field…" is the text of an API's error, as it appears in public issues; other texts are descriptive.
 */

import { isObject } from '../../../src/providers/json-fields.ts'
import { findProblem, isGiven, type Json, objectIn, objectsIn, reject, stringIn } from './strict-rules.ts'

/** `V2ChatRequest`, and `stream`. */
const fields = [
  'model messages stream tools strict_tools tool_choice documents citation_options response_format safety_mode',
  'max_tokens stop_sequences temperature seed frequency_penalty presence_penalty k p logprobs thinking priority',
].flatMap((line) => line.split(' '))

const messageFields: Readonly<Record<string, readonly string[]>> = {
  system: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'tool_calls', 'tool_plan', 'citations'],
  tool: ['role', 'content', 'tool_call_id'],
}

/** `TextContent`, `ImageContent`, `ThinkingContent`, `DocumentContent`. */
const blockFields: Readonly<Record<string, readonly string[]>> = {
  text: ['type', 'text'],
  image_url: ['type', 'image_url'],
  thinking: ['type', 'thinking'],
  document: ['type', 'document'],
}

/** "min value of `0.01`, max value of `0.99`" */
const ranges: Readonly<Record<string, readonly [number, number]>> = {
  temperature: [0, Infinity],
  p: [0.01, 0.99],
  k: [0, 500],
  frequency_penalty: [0, 1],
  presence_penalty: [0, 1],
}
/** "A list of up to 5 strings" */
const maxStops = 5

function rejectUnknown(object: Json, known: readonly string[]): void {
  const unknown = Object.keys(object).find((field) => !known.includes(field))
  if (unknown !== undefined)
    reject(
      `unknown field: parameter '${unknown}' is not a valid field. For proper usage, please refer to https://docs.cohere.com/reference/chat`,
    )
}

function requireField(object: Json, field: string, path: string): void {
  if (!isGiven(object, field)) reject(`invalid request: ${path}${field} is required`)
}

/** `ToolCallV2`. */
function validateCall(call: Json, path: string): void {
  rejectUnknown(call, ['id', 'type', 'function'])
  requireField(call, 'id', path)
  if (call['type'] !== 'function') reject(`invalid request: ${path}type must be function`)
  rejectUnknown(objectIn(call['function']), ['name', 'arguments'])
}

/** `ChatMessageV2`: the content is required except the assistant's. */
function validateMessage(message: Json, path: string): void {
  const role = stringIn(message['role'])
  const known = messageFields[role]
  if (!known) reject(`invalid request: ${path}role must be one of system, user, assistant, tool`)
  rejectUnknown(message, known)
  if (role !== 'assistant') requireField(message, 'content', path)
  if (role === 'tool') requireField(message, 'tool_call_id', path)
  for (const block of objectsIn(message['content'])) {
    const type = stringIn(block['type'])
    const knownOfBlock = blockFields[type]
    if (!knownOfBlock) reject(`invalid request: ${path}content has a block of the unknown type ${type}`)
    rejectUnknown(block, knownOfBlock)
    if (isObject(block['image_url'])) rejectUnknown(block['image_url'], ['url', 'detail'])
  }
  for (const call of objectsIn(message['tool_calls'])) validateCall(call, `${path}tool_calls.`)
}

/** `ToolV2`; "the `tools` parameter must be passed in the request" if a tool is required. */
function validateTools(body: Json): void {
  const tools = objectsIn(body['tools'])
  for (const tool of tools) {
    rejectUnknown(tool, ['type', 'function'])
    const about = objectIn(tool['function'])
    rejectUnknown(about, ['name', 'description', 'parameters'])
    for (const field of ['name', 'parameters']) requireField(about, field, 'tools.function.')
  }
  if (!isGiven(body, 'tool_choice')) return
  const choice = stringIn(body['tool_choice'])
  if (choice !== 'REQUIRED' && choice !== 'NONE')
    reject('invalid request: tool_choice must be REQUIRED or NONE')
  if (choice === 'REQUIRED' && tools.length === 0)
    reject('invalid request: tools must be passed if tool_choice is REQUIRED')
}

/**
 * `ResponseFormatV2`: "not supported when used in combinations with the `documents` or `tools` parameters", "must not be
 * specified when the `type` is set to `"text"`".
 */
function validateResponseFormat(body: Json): void {
  if (!isGiven(body, 'response_format')) return
  const format = objectIn(body['response_format'])
  const type = stringIn(format['type'])
  if (type !== 'text' && type !== 'json_object')
    reject('invalid request: response_format.type must be text or json_object')
  rejectUnknown(format, type === 'text' ? ['type'] : ['type', 'json_schema'])
  if (type === 'json_object' && (isGiven(body, 'tools') || isGiven(body, 'documents')))
    reject('invalid request: response_format is not supported with tools or documents')
}

/** The ranges, and `Thinking`: its budget "must be set to a positive integer". */
function validateOptions(body: Json): void {
  for (const [field, [minimum, maximum]] of Object.entries(ranges)) {
    const value = body[field]
    if (typeof value === 'number' && (value < minimum || value > maximum))
      reject(`invalid request: ${field} must be between ${minimum} and ${maximum}`)
  }
  const stops = body['stop_sequences']
  if (Array.isArray(stops) && stops.length > maxStops)
    reject(`invalid request: stop_sequences has more than ${maxStops} strings`)
  if (!isGiven(body, 'thinking')) return
  const thinking = objectIn(body['thinking'])
  rejectUnknown(thinking, ['type', 'token_budget'])
  const { type, token_budget: budget } = thinking
  if (type !== 'enabled' && type !== 'disabled')
    reject('invalid request: thinking.type must be enabled or disabled')
  if (isGiven(thinking, 'token_budget') && !(Number.isInteger(budget) && Number(budget) > 0))
    reject('invalid request: thinking.token_budget must be a positive integer')
}

export interface CohereProblem {
  readonly status: number
  readonly error: { message: string }
}

/** The error with which Cohere would reject the body of a request to `/v2/chat`: 422 for unknown fields, otherwise 400. */
export function findCohereChatProblem(body: Json): CohereProblem | undefined {
  const problem = findProblem(() => {
    rejectUnknown(body, fields)
    for (const field of ['model', 'messages']) requireField(body, field, '')
    const messages = objectsIn(body['messages'])
    if (messages.length === 0) reject('invalid request: messages is required')
    for (const [index, message] of messages.entries()) validateMessage(message, `messages[${index}].`)
    validateTools(body)
    validateResponseFormat(body)
    validateOptions(body)
  })
  if (!problem) return undefined
  const { message } = problem
  return { status: message.startsWith('unknown field') ? 422 : 400, error: { message } }
}
