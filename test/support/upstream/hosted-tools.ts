/** Scripted upstreams of the Responses API that run tools: whole responses and streams with the same items. */
import type { Script } from './exchange.ts'
import { respondWithEvents, respondWithJson, type NamedEvent } from './scripted-responses.ts'

type Fields = Record<string, unknown>

const usage = { input_tokens: 20, output_tokens: 4, total_tokens: 24 }
const text = { type: 'output_text', text: 'Found.', annotations: [] }

export const messageItem = {
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [text],
}

export const callItem = (type: string, more: Fields = {}): Fields => ({
  id: 'c_1',
  type,
  status: 'completed',
  ...more,
})

function wholeResponse(output: readonly Fields[], more: Fields): Fields {
  const error = { error: null, incomplete_details: null }
  return {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'gpt',
    ...error,
    output,
    usage,
    ...more,
  }
}

/** An item is complete only in its last event, as at OpenAI. */
export function eventsOfItems(output: readonly Fields[], more: Fields = {}): NamedEvent[] {
  const started = { ...wholeResponse([], {}), status: 'in_progress', usage: null }
  const events: [string, Fields][] = [
    ['response.created', { response: started }],
    ...output.flatMap((item, index): [string, Fields][] => {
      const { id, type, action } = item
      const added =
        type === 'message' ? item : { id, type, status: 'in_progress', ...(action ? { action } : {}) }
      return [
        ['response.output_item.added', { output_index: index, item: added }],
        ['response.output_item.done', { output_index: index, item }],
      ]
    }),
    ['response.completed', { response: wholeResponse(output, more) }],
  ]
  return events.map(([type, fields], number) => ({
    name: type,
    payload: JSON.stringify({ type, sequence_number: number, ...fields }),
  }))
}

/** Responds with these items, as a stream if asked for one. `more`: further fields of the response. */
export const respondWithItems =
  (output: readonly Fields[], more: Fields = {}): Script =>
  (exchange) =>
    (exchange.request.json['stream'] === true
      ? respondWithEvents(eventsOfItems(output, more))
      : respondWithJson(200, wholeResponse(output, more)))(exchange)
