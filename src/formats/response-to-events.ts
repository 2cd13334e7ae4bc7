/**
 * A whole response of the Responses API as the events of a stream (OpenAI API reference, "Streaming events"), for an upstream
 * that sends it where a stream was asked for.
 */
import { getObjects, getString, type Json } from '../providers/json-fields.ts'
import { encodeResponsesEvent } from './responses-event-log.ts'

interface UnnumberedEvent {
  readonly type: string
  readonly fields: Json
}

const inProgress = { status: 'in_progress' }

/** The fields of an item whose text arrives in pieces, with the events of the pieces. */
const inputs: Readonly<Record<string, readonly [field: string, event: string]>> = {
  function_call: ['arguments', 'response.function_call_arguments'],
  custom_tool_call: ['input', 'response.custom_tool_call_input'],
}

function partEvents(part: Json, place: Json): UnnumberedEvent[] {
  const [field, event] =
    part['type'] === 'refusal' ? ['refusal', 'response.refusal'] : ['text', 'response.output_text']
  const text = getString(part, field)
  const logprobs = field === 'text' ? { logprobs: part['logprobs'] ?? [] } : {}
  const begun = text === undefined ? part : { ...part, [field]: '' }
  return [
    { type: 'response.content_part.added', fields: { ...place, part: begun } },
    ...(text
      ? [
          { type: `${event}.delta`, fields: { ...place, delta: text, ...logprobs } },
          { type: `${event}.done`, fields: { ...place, [field]: text, ...logprobs } },
        ]
      : []),
    { type: 'response.content_part.done', fields: { ...place, part } },
  ]
}

function itemEvents(item: Json, output_index: number): UnnumberedEvent[] {
  const type = getString(item, 'type') ?? ''
  const place = { item_id: item['id'], output_index }
  const isMessage = type === 'message'
  const [field = '', event = ''] = Object.hasOwn(inputs, type) ? (inputs[type] ?? []) : []
  const input = getString(item, field)
  const begun = {
    ...item,
    ...inProgress,
    ...(isMessage ? { content: [] } : {}),
    ...(field ? { [field]: '' } : {}),
  }
  const parts = isMessage ? getObjects(item, 'content') : []
  return [
    { type: 'response.output_item.added', fields: { output_index, item: begun } },
    ...parts.flatMap((part, index) => partEvents(part, { ...place, content_index: index })),
    ...(input
      ? [
          { type: `${event}.delta`, fields: { ...place, delta: input } },
          { type: `${event}.done`, fields: { ...place, [field]: input } },
        ]
      : []),
    { type: 'response.output_item.done', fields: { output_index, item } },
  ]
}

export function responseToEvents(response: Json): Buffer {
  const begun = { ...response, ...inProgress, output: [], usage: null, incomplete_details: null }
  const status = response['status'] === 'incomplete' ? 'incomplete' : 'completed'
  const events = [
    { type: 'response.created', fields: { response: begun } },
    { type: 'response.in_progress', fields: { response: begun } },
    ...getObjects(response, 'output').flatMap(itemEvents),
    { type: `response.${status}`, fields: { response } },
  ]
  return Buffer.concat(events.map(({ type, fields }, number) => encodeResponsesEvent(type, number, fields)))
}
