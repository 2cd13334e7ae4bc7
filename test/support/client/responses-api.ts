/**
 * OpenAI's Responses API for tests: requests, and streams that are checked while they are assembled. The checks are those
 * of the specification of Open Responses: fields that are always present, numbers without gaps, events in order.
 */
import assert from 'node:assert/strict'

import type { Account, PostOptions } from '../server/account.ts'

type Fields = Record<string, unknown>

/** A Responses request; `fields` are added to it unchanged. */
export function responsesRequest(model: string, fields: object = {}): Fields {
  return { model, input: 'Say hello.', ...fields }
}

export function postResponses(
  account: Account,
  body: object | string,
  options: PostOptions = {},
): Promise<Response> {
  return account.post(body, { path: '/v1/responses', ...options })
}

/** Asks for a compaction; `body` as of a Responses request. */
export function compact(
  account: Account,
  body: object,
  headers: PostOptions['headers'] = {},
): Promise<Response> {
  return account.post(body, { path: '/v1/responses/compact', headers })
}

export interface ResponseItem extends Fields {
  id: string
  type: string
  status?: string
}

export interface ResponseObject extends Fields {
  id: string
  status: string
  model: string
  output: ResponseItem[]
  error: { code: string; message: string } | null
  usage: Record<string, unknown> | null
}

export interface ResponsesEvent extends Fields {
  type: string
  sequence_number: number
  output_index?: number
  item?: ResponseItem
  delta?: string
  response?: ResponseObject
  error?: { type: string; code: string; message: string; param: string | null }
}

/** The types of the fields that every response has. */
const alwaysPresent: Readonly<Record<string, readonly string[]>> = {
  id: ['string'],
  object: ['string'],
  created_at: ['number'],
  completed_at: ['number', 'null'],
  status: ['string'],
  incomplete_details: ['object', 'null'],
  model: ['string'],
  previous_response_id: ['null'],
  instructions: ['string', 'null'],
  output: ['array'],
  error: ['object', 'null'],
  tools: ['array'],
  tool_choice: ['string', 'object'],
  truncation: ['string'],
  parallel_tool_calls: ['boolean'],
  text: ['object'],
  top_p: ['number'],
  presence_penalty: ['number'],
  frequency_penalty: ['number'],
  top_logprobs: ['number'],
  temperature: ['number'],
  reasoning: ['object', 'null'],
  usage: ['object', 'null'],
  max_output_tokens: ['number', 'null'],
  max_tool_calls: ['number', 'null'],
  store: ['boolean'],
  background: ['boolean'],
  service_tier: ['string'],
  metadata: ['object'],
  safety_identifier: ['string', 'null'],
  prompt_cache_key: ['string', 'null'],
}

/** The text of a response without the names of the holders of its encrypted content. */
export function withoutHolders(text: string): string {
  return text.replaceAll(/\.sluice\.[\w-]{12}(?=")/g, '')
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

const itemFields: Readonly<Record<string, readonly string[]>> = {
  message: ['id', 'status', 'role', 'content'],
  reasoning: ['id', 'summary'],
  function_call: ['id', 'status', 'call_id', 'name', 'arguments'],
  custom_tool_call: ['id', 'status', 'call_id', 'name', 'input'],
  compaction: ['id', 'encrypted_content'],
}

/** Checks the shape of a response object. */
export function checkResponse(body: unknown): ResponseObject {
  const response = body as ResponseObject
  for (const [field, types] of Object.entries(alwaysPresent))
    assert.ok(types.includes(typeOf(response[field])), `${field}: ${JSON.stringify(response[field])}`)
  for (const item of response.output) {
    for (const field of itemFields[item.type] ?? assert.fail(item.type))
      assert.notEqual(item[field], undefined, `${item.type}.${field}`)
  }
  if (response.usage) {
    const details = ['input_tokens', 'input_tokens_details', 'output_tokens', 'output_tokens_details']
    assert.deepEqual(Object.keys(response.usage), [...details, 'total_tokens'])
  }
  return response
}

/** The events of a stream, without `[DONE]`. Checks their names and numbers. */
export function parseResponsesEvents(text: string): ResponsesEvent[] {
  const blocks = text.split('\n\n').filter((block) => !block.startsWith(':'))
  assert.equal(blocks.pop(), '', 'the stream ends inside an event')
  if (blocks.at(-1) === 'data: [DONE]') blocks.pop()
  return blocks.map((block, index) => {
    const [, name, payload = ''] = /^event: ([\w.]+)\ndata: (.*)$/.exec(block) ?? []
    const event = JSON.parse(payload) as ResponsesEvent
    assert.equal(event.type, name)
    assert.equal(event.sequence_number, index, 'a number is missing')
    return event
  })
}

const textDeltas = /^response\.(?:output_text|refusal|reasoning_summary_text)\.delta$/
const callDeltas = /^response\.(?:function_call_arguments|custom_tool_call_input)\.delta$/

/** The text in an item, or the arguments of its call. */
export function textOf(item: ResponseItem): string {
  const parts = (item['content'] ?? item['summary'] ?? []) as { text?: string; refusal?: string }[]
  const written = item['arguments'] ?? item['input']
  if (typeof written === 'string') return written
  return parts.map(({ text, refusal }) => text ?? refusal ?? '').join('')
}

/** The final response of a complete stream. Checks the order of its events, and that they say the same as its items. */
export function assembleResponse(events: readonly ResponsesEvent[]): ResponseObject {
  const open = new Map<number, string>()
  const items: ResponseItem[] = []
  for (const { type, output_index: index = -1, item, delta = '' } of events) {
    if (type === 'response.output_item.added') {
      assert.ok(item && !open.has(index) && items[index] === undefined)
      open.set(index, '')
    } else if (type === 'response.output_item.done') {
      assert.ok(item)
      assert.equal(textOf(item), open.get(index), 'the deltas differ from the item')
      open.delete(index)
      items[index] = item
    } else if (textDeltas.test(type) || callDeltas.test(type)) {
      assert.ok(open.has(index), 'a delta of an item that is not open')
      open.set(index, (open.get(index) ?? '') + delta)
    }
  }
  assert.equal(open.size, 0, 'an item is not done')
  assert.deepEqual(
    events.slice(0, 2).map(({ type }) => type),
    ['response.created', 'response.in_progress'],
  )
  const last = events.at(-1)
  assert.match(last?.type ?? '', /^response\.(?:completed|incomplete)$/)
  const response = checkResponse(last?.response)
  assert.equal(last?.type, `response.${response.status}`)
  assert.deepEqual(response.output, items)
  return response
}

/** Sends a request as a stream, and assembles it. */
export async function streamResponse(account: Account, body: object): Promise<ResponseObject> {
  const response = await postResponses(account, { ...body, stream: true })
  assert.equal(response.status, 200)
  return assembleResponse(parseResponsesEvents(await response.text()))
}
