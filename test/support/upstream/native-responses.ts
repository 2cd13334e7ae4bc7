/** Scripts of upstreams that speak the Responses API. */
import type { Script } from './exchange.ts'
import { respondWithEvents, respondWithJson, type NamedEvent } from './scripted-responses.ts'

type Fields = Record<string, unknown>

const usage = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 4,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 24,
}

/** The fields that every response has, as far as no request has set them. */
const settings = {
  object: 'response',
  created_at: 1_790_000_000,
  completed_at: null,
  incomplete_details: null,
  previous_response_id: null,
  instructions: null,
  error: null,
  tools: [],
  tool_choice: 'auto',
  truncation: 'disabled',
  parallel_tool_calls: true,
  text: { format: { type: 'text' } },
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  temperature: 1,
  reasoning: null,
  max_output_tokens: null,
  max_tool_calls: null,
  store: false,
  background: false,
  service_tier: 'default',
  metadata: {},
  safety_identifier: null,
  prompt_cache_key: null,
}

/** A complete response with these items. */
export function nativeResponse(output: readonly Fields[], fields: Fields = {}): Fields {
  return { ...settings, id: 'resp_1', status: 'completed', model: 'gpt', output, usage, ...fields }
}

/** A message of the assistant. */
export function messageItem(text: string, id = 'msg_1'): Fields {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }]
  return { id, type: 'message', status: 'completed', role: 'assistant', content }
}

/** A call of a tool that the provider runs. */
export function callItem(type: string, more: Fields = {}): Fields {
  return { id: 'c_1', type, status: 'completed', ...more }
}

/** The deltas of an item: the text of a message, the arguments of a call. */
function deltasOf(item: Fields, pieces: readonly string[] | undefined): [string, Fields][] {
  const place = { item_id: item['id'] }
  if (item['type'] === 'function_call')
    return [['response.function_call_arguments.delta', { ...place, delta: item['arguments'] }]]
  if (item['type'] !== 'message') return []
  const [{ text }] = item['content'] as [{ text: string }]
  const fields = { ...place, content_index: 0, logprobs: [] }
  return (pieces ?? [text]).map((delta) => ['response.output_text.delta', { ...fields, delta }])
}

/** An item as it is added: only its last event has all of it, as at OpenAI. */
function begunItem(item: Fields): Fields {
  const { id, type, action } = item
  if (type === 'message') return { ...item, status: 'in_progress', content: [] }
  if (type === 'function_call') return { ...item, status: 'in_progress', arguments: '' }
  return String(type).endsWith('_call')
    ? { id, type, status: 'in_progress', ...(action ? { action } : {}) }
    : item
}

/** The events of a response with these items. `pieces`: of the text of its messages; default: each in one piece. */
export function nativeEvents(
  output: readonly Fields[],
  fields: Fields = {},
  pieces?: readonly string[],
): NamedEvent[] {
  const whole = nativeResponse(output, fields)
  const begun = { response: { ...whole, status: 'in_progress', output: [], usage: null } }
  const events: [string, Fields][] = [
    ['response.created', begun],
    ['response.in_progress', begun],
    ...output.flatMap((item, index): [string, Fields][] => {
      return [
        ['response.output_item.added', { item: begunItem(item) }],
        ...deltasOf(item, pieces),
        ['response.output_item.done', { item }],
      ].map(([type, more]) => [type as string, { output_index: index, ...(more as Fields) }])
    }),
    ['response.completed', { response: whole }],
  ]
  return events.map(([type, more], number) => ({
    name: type,
    payload: JSON.stringify({ type, sequence_number: number, ...more }),
  }))
}

/** Responds with these items, as a stream if the request wants one. */
export function respondWithItems(output: readonly Fields[], fields: Fields = {}): Script {
  return (exchange) =>
    (exchange.request.json['stream'] === true
      ? respondWithEvents(nativeEvents(output, fields))
      : respondWithJson(200, nativeResponse(output, fields)))(exchange)
}

let responses = 0

/** Responds with a message of this text, streamed in these pieces if requested, and with an id of its own. */
export function respondNatively(...pieces: string[]): Script {
  return (exchange) => {
    const { model, stream } = exchange.request.json
    const number = ++responses
    const items = [messageItem(pieces.join(''), `msg_${number}`)]
    const fields = { id: `resp_${number}`, model }
    const script =
      stream === true
        ? respondWithEvents(nativeEvents(items, fields, pieces))
        : respondWithJson(200, nativeResponse(items, fields))
    return script(exchange)
  }
}
