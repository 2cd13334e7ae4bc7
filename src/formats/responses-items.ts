/** Output items of the Responses format, and the events for the text in them. */
import { newId } from '../lib/ids.ts'
import { isObject, omitUndefined, type Json } from '../providers/json-fields.ts'
import { parseCustomInput, type CallerTool } from './responses-tools.ts'
import { wrapSignature } from './thinking-signature.ts'

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'
export type TextKind = 'text' | 'refusal' | 'thinking'

export interface TextItem {
  readonly kind: TextKind
  readonly index: number
  readonly id: string
  text: string
  /** Of reasoning: the detail that its provider needs back. */
  detail: Json | undefined
}

export interface CallItem {
  readonly kind: CallerTool['kind']
  readonly index: number
  readonly id: string
  /** `call_id`, `name` and, if it has one, `namespace`. */
  readonly call: Json
  arguments: string
}

/** The names of the events of a text, and its position in the item. */
export const textEvents = {
  text: { name: 'output_text', part: 'content_part', position: { content_index: 0 } },
  refusal: { name: 'refusal', part: 'content_part', position: { content_index: 0 } },
  thinking: {
    name: 'reasoning_summary_text',
    part: 'reasoning_summary_part',
    position: { summary_index: 0 },
  },
} as const satisfies Record<TextKind, { name: string; part: string; position: Json }>

/** The types of items with calls, and how their ids begin. */
export const callTypes = {
  function: { type: 'function_call', prefix: 'fc' },
  custom: { type: 'custom_tool_call', prefix: 'ctc' },
  search: { type: 'tool_search_call', prefix: 'tsc' },
} as const satisfies Record<CallerTool['kind'], { type: string; prefix: string }>

/** A part of an item with this text. */
export function encodePart(kind: TextKind, text: string): Json {
  switch (kind) {
    case 'text':
      return { type: 'output_text', text, annotations: [], logprobs: [] }
    case 'refusal':
      return { type: 'refusal', refusal: text }
    case 'thinking':
      return { type: 'summary_text', text }
  }
}

/** `provider`: that of the response, to which its reasoning goes back. */
export function encodeTextItem(
  { kind, id, text, detail }: TextItem,
  status: ItemStatus,
  provider: string,
): Json {
  const parts = text === '' ? [] : [encodePart(kind, text)]
  if (kind !== 'thinking') return { id, type: 'message', status, role: 'assistant', content: parts }
  const signature = status === 'in_progress' ? {} : { encrypted_content: wrapSignature(provider, detail) }
  return { id, type: 'reasoning', summary: parts, ...signature }
}

export function encodeCallItem({ kind, id, call, arguments: text }: CallItem, status: ItemStatus): Json {
  const common = { id, type: callTypes[kind].type, status, ...call }
  switch (kind) {
    case 'function':
      return { ...common, arguments: text }
    case 'custom':
      return { ...common, input: text === '' ? '' : parseCustomInput(text) }
    case 'search':
      return { ...common, execution: 'client', arguments: parseSearch(text) }
  }
}

/** Arguments that are cut or no object search for nothing. */
function parseSearch(text: string): Json {
  try {
    const parsed: unknown = JSON.parse(text)
    return isObject(parsed) ? parsed : {}
  } catch {
    return {}
  }
}

/** The call of a function, as the call of the caller's tool that it stands for. `id` empty: the upstream gave none. */
export function describeCall(
  id: string,
  functionName: string,
  tools: ReadonlyMap<string, CallerTool>,
): Pick<CallItem, 'kind' | 'call'> {
  const { kind = 'function', name = functionName, namespace } = tools.get(functionName) ?? {}
  const callId = id || newId('call')
  return {
    kind,
    call: kind === 'search' ? { call_id: callId } : omitUndefined({ call_id: callId, name, namespace }),
  }
}
