/** Responses of an upstream that speaks the Responses API: whole, or as the events of a stream. */
import type { Script } from './exchange.ts'
import { respondWithEvents, respondWithJson, type NamedEvent } from './scripted-responses.ts'

type Fields = Record<string, unknown>

const usage = { input_tokens: 20, output_tokens: 4, total_tokens: 24 }

/** A complete response with these items. */
export function nativeResponse(output: readonly Fields[], fields: Fields = {}): Fields {
  const error = { error: null, incomplete_details: null }
  const response = { id: 'resp_1', object: 'response', status: 'completed', model: 'gpt', ...error }
  return { ...response, output, usage, ...fields }
}

/** The events of a response with these items, each in one piece. */
export function nativeEvents(output: readonly Fields[], fields: Fields = {}): NamedEvent[] {
  const whole = nativeResponse(output, fields)
  const begun = { response: { ...whole, status: 'in_progress', output: [], usage: null } }
  const events: [string, Fields][] = [
    ['response.created', begun],
    ['response.in_progress', begun],
    ...output.flatMap((item, index): [string, Fields][] => [
      ['response.output_item.added', { output_index: index, item }],
      ['response.output_item.done', { output_index: index, item }],
    ]),
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

/** A message of the assistant. */
export function messageItem(text: string, id = 'msg_1'): Fields {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return { id, type: 'message', status: 'completed', role: 'assistant', content }
}
