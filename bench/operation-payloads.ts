/**
 * What the upstream answers on other paths than chat completions, and what every relay must pass: the same text and usage
 * in the format of the Responses API, and embeddings.
 */
import {
  completionText,
  deltaTexts,
  jsonResponse,
  responseUsage,
  streamEvents,
  upstreamModel,
  type RequestKind,
} from './payloads.ts'
import type { CannedResponse } from './provider-responses.ts'

const itemId = 'msg_bench00000000000000'
const place = { item_id: itemId, output_index: 0, content_index: 0 }

function outputItem(status: string, texts: readonly string[]): object {
  const content = texts.map((text) => ({ type: 'output_text', text, annotations: [], logprobs: [] }))
  return { id: itemId, type: 'message', status, role: 'assistant', content }
}

function responseObject(status: string, output: readonly object[], usage: object | null): object {
  return {
    id: 'resp_bench0000000000000000000000',
    object: 'response',
    created_at: 1_790_000_000,
    status,
    error: null,
    incomplete_details: null,
    model: upstreamModel,
    output,
    parallel_tool_calls: true,
    store: false,
    temperature: 0.7,
    tools: [],
    usage,
  }
}

const usage = {
  input_tokens: responseUsage.input,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: responseUsage.output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: responseUsage.input + responseUsage.output,
}

function responseEvents(): Buffer[] {
  const text = deltaTexts.join('')
  const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
  const started = responseObject('in_progress', [], null)
  const events = [
    { type: 'response.created', response: started },
    { type: 'response.in_progress', response: started },
    { type: 'response.output_item.added', output_index: 0, item: outputItem('in_progress', []) },
    { type: 'response.content_part.added', ...place, part },
    ...deltaTexts.map((delta) => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...place, text, logprobs: [] },
    { type: 'response.content_part.done', ...place, part: { ...part, text } },
    { type: 'response.output_item.done', output_index: 0, item: outputItem('completed', [text]) },
    {
      type: 'response.completed',
      response: responseObject('completed', [outputItem('completed', [text])], usage),
    },
  ]
  return events.map((event, index) =>
    Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: index })}\n\n`),
  )
}

export const responsesResponse: CannedResponse = {
  json: Buffer.from(
    JSON.stringify(responseObject('completed', [outputItem('completed', [completionText])], usage)),
  ),
  events: responseEvents(),
}

/** Costs as much as all other responses, which have output too. */
const embeddingTokens = 650
const dimensions = 1536

/** As the libraries of OpenAI ask for it: in base64. */
export const embeddingsResponse: CannedResponse = {
  json: Buffer.from(
    JSON.stringify({
      object: 'list',
      data: [
        {
          object: 'embedding',
          index: 0,
          embedding: Buffer.from(new Float32Array(dimensions).fill(0.015625).buffer).toString('base64'),
        },
      ],
      model: upstreamModel,
      usage: { prompt_tokens: embeddingTokens, total_tokens: embeddingTokens },
    }),
  ),
  events: [],
}

/** What a relay must pass. */
export interface ExpectedResponse {
  readonly json: Buffer
  /** All relays pass the same bytes up to the events with the usage, which may contain more (a cost). */
  readonly streamStart: Buffer
  readonly streamEnd: string
  /** What a translation must preserve. */
  readonly usageMark: string
  /** Of each event, with the empty line at its end. */
  readonly lineFeedsPerEvent: number
}

export function expectedResponse(kind: RequestKind): ExpectedResponse {
  if (kind === 'responses' || kind === 'responses-stream') {
    return {
      json: responsesResponse.json,
      streamStart: Buffer.concat(responsesResponse.events.slice(0, -1)),
      // Translated streams end with `[DONE]`, too.
      streamEnd: '\n\n',
      usageMark: `"input_tokens":${responseUsage.input},`,
      lineFeedsPerEvent: 3,
    }
  }
  return {
    json: kind === 'embeddings' ? embeddingsResponse.json : jsonResponse,
    streamStart: Buffer.concat(streamEvents.slice(0, -2)),
    streamEnd: 'data: [DONE]\n\n',
    usageMark: `"total_tokens":${responseUsage.input + responseUsage.output}`,
    lineFeedsPerEvent: 2,
  }
}

export function pathFor(kind: RequestKind): string {
  if (kind === 'embeddings') return '/v1/embeddings'
  return kind === 'responses' || kind === 'responses-stream' ? '/v1/responses' : '/v1/chat/completions'
}
