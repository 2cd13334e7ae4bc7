/**
 * The calls in a Responses conversation. Calls that the caller runs, also those of OpenAI's own tools (shell, patches,
 * computer use), become calls of functions. What a provider has run is left out: its result is in the text that followed.
 */
import { getObject, getObjects, getString, isObject, type Json } from '../providers/json-fields.ts'
import { encodeCustomInput, functionName, functionNamesIn, searchName } from './responses-tools.ts'

interface CallType {
  readonly result: string
  /** The function that stands for the tool. */
  encode(item: Json): Json
  /** What the result says: a text, or parts. */
  read(result: Json): unknown
}

function ofTool(name: string, field: string, read: CallType['read'], result: string): CallType {
  return { result, read, encode: (item) => ({ name, arguments: JSON.stringify(item[field] ?? {}) }) }
}

const readOutput: CallType['read'] = ({ output }) => output

const callTypesByName: Readonly<Record<string, CallType>> = {
  function_call: {
    result: 'function_call_output',
    read: readOutput,
    encode: (item) => ({ name: calledName(item), arguments: getString(item, 'arguments') ?? '{}' }),
  },
  custom_tool_call: {
    result: 'custom_tool_call_output',
    read: readOutput,
    encode: (item) => ({
      name: calledName(item),
      arguments: encodeCustomInput(getString(item, 'input') ?? ''),
    }),
  },
  tool_search_call: ofTool(searchName, 'arguments', describeFoundTools, 'tool_search_output'),
  local_shell_call: ofTool('local_shell', 'action', readOutput, 'local_shell_call_output'),
  shell_call: ofTool('shell', 'action', readShellOutput, 'shell_call_output'),
  apply_patch_call: ofTool('apply_patch', 'operation', readPatchOutput, 'apply_patch_call_output'),
  computer_call: {
    result: 'computer_call_output',
    read: readScreenshot,
    encode: ({ action, actions }) => ({ name: 'computer', arguments: JSON.stringify(action ?? { actions }) }),
  },
}
const callTypes = new Map(Object.entries(callTypesByName))
const resultTypes = new Map([...callTypes.values()].map((type) => [type.result, type] as const))

/** Tools that a provider runs. */
const hostedTypes = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_call',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
])

/** A provider has run the tool. A search among tools may be one of the caller's, or one of the provider's. */
export function isHostedCall({ execution }: Json, type: string): boolean {
  const isSearch = type === 'tool_search_call' || type === 'tool_search_output'
  return hostedTypes.has(type) || (isSearch && execution === 'server')
}

export function isCall(type: string): boolean {
  return callTypes.has(type)
}

export function isCallResult(type: string): boolean {
  return resultTypes.has(type)
}

/** The id that a call shares with its result; `undefined`: it has none. For `local_shell`, it may be `id`. */
export function callIdOf(item: Json): string | undefined {
  const isLocalShell = getString(item, 'type')?.startsWith('local_shell_call') === true
  return getString(item, 'call_id') || (isLocalShell && getString(item, 'id')) || undefined
}

function calledName(item: Json): string {
  return functionName(getString(item, 'name') ?? '', getString(item, 'namespace'))
}

/** The function of a call, as the provider knows it. */
export function encodeCalled(item: Json, type: string): Json {
  return callTypes.get(type)?.encode(item) ?? {}
}

/** The content of a result: a text, or parts. */
export function readResult(item: Json, type: string): unknown {
  return resultTypes.get(type)?.read(item)
}

/** The tools that a search has found are offered with the others: the result only names them. */
function describeFoundTools(item: Json): string {
  const names = functionNamesIn(getObjects(item, 'tools'))
  return names.length === 0 ? 'No tools found.' : `Tools found: ${names.join(', ')}`
}

function readShellOutput({ output }: Json): unknown {
  if (!Array.isArray(output)) return output
  return output.map((each: unknown) => (isObject(each) ? describeCommand(each) : '')).join('\n\n')
}

/** What a command wrote, and how it ended unless that was well. */
function describeCommand(command: Json): string {
  const { type, exit_code: code } = getObject(command, 'outcome') ?? {}
  const ending = typeof code === 'number' && code !== 0 ? `Exit code: ${code}` : ''
  const texts = [
    getString(command, 'stdout'),
    getString(command, 'stderr'),
    type === 'timeout' ? 'Timed out.' : ending,
  ]
  return texts.filter((text) => text !== undefined && text !== '').join('\n')
}

function readPatchOutput(item: Json): string {
  return getString(item, 'output') || (getString(item, 'status') ?? '')
}

/** A screenshot is an image like any other. */
function readScreenshot({ output }: Json): unknown {
  return isObject(output) ? [{ ...output, type: 'input_image' }] : output
}
