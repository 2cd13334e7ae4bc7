/**
 * `functions`, `function_call` and messages of the role `function`, which `tools` replaced (OpenAI, "Create chat
 * completion"), for providers with their own API format: requests are read as if they had tools, and callers get the
 * call back as `function_call`. A message can have one such call.
 */
import { getObject, getString, isObject, lookup, type Json } from './json-fields.ts'
import { UnsupportedFeatureError } from './provider.ts'

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}

/** The caller expects `function_call` instead of `tool_calls`. */
export function usesFunctions(request: Json): boolean {
  return !isAbsent(request['functions'])
}

function toTools(functions: unknown): Json[] {
  if (!Array.isArray(functions)) throw new UnsupportedFeatureError('functions', 'must be an array')
  return functions.map((each: unknown, index) => {
    if (!isObject(each) || getString(each, 'name') === undefined) {
      throw new UnsupportedFeatureError(`functions[${index}].name`, 'must be a string')
    }
    return { type: 'function', function: each }
  })
}

/** The calls had no ids: the result belongs to the last call before it. */
function toToolMessages(messages: readonly unknown[]): unknown[] {
  let callId = ''
  return messages.map((message, index) => {
    if (!isObject(message)) return message
    const called = getObject(message, 'function_call')
    if (message['role'] === 'assistant' && called) {
      callId = `call_${index}`
      return { ...message, tool_calls: [{ id: callId, type: 'function', function: called }] }
    }
    return message['role'] === 'function' ? { ...message, role: 'tool', tool_call_id: callId } : message
  })
}

const choices: Readonly<Record<string, string>> = { auto: 'auto', none: 'none' }

function toToolChoice(call: unknown): unknown {
  if (isObject(call)) return { type: 'function', function: call }
  const choice = typeof call === 'string' ? lookup(choices, call) : undefined
  if (choice === undefined)
    throw new UnsupportedFeatureError('function_call', 'must be "auto", "none" or an object with a name')
  return choice
}

/** The request with tools only. Throws `UnsupportedFeatureError` naming the invalid field. */
export function withTools(request: Json): Json {
  const { functions, function_call: call, messages } = request
  const replaced = Array.isArray(messages) ? { ...request, messages: toToolMessages(messages) } : request
  if (isAbsent(functions)) {
    if (isAbsent(call)) return replaced
    throw new UnsupportedFeatureError('function_call', 'requires `functions`')
  }
  return {
    ...replaced,
    tools: toTools(functions),
    tool_choice: isAbsent(call) ? undefined : toToolChoice(call),
    parallel_tool_calls: false,
  }
}
