/**
 * `POST /v1/messages` and `/v1/messages/count_tokens`: callers of Anthropic's format. The request is read and checked,
 * then it is the relay's like any other.
 */
import { countTokens } from '../../relay/count-tokens.ts'
import type { CallerExchange } from '../../relay/exchange.ts'
import { readMessagesRequest, type MessagesHeaders } from '../../relay/request/messages-request.ts'
import { rateHeaders } from '../../relay/rate-headers.ts'
import { relayRequest, servedModel, type ChatCall, type ChatDoor } from './chat-completions.ts'

function headersOf({ arrival }: ChatCall): MessagesHeaders {
  return { version: arrival.header('anthropic-version'), beta: arrival.header('anthropic-beta') }
}

/** Throws the refusal to answer when nothing has been sent. */
export async function messages(door: ChatDoor, call: ChatCall, exchange: CallerExchange): Promise<void> {
  const request = readMessagesRequest(call.body, { headers: headersOf(call), forCount: false })
  await relayRequest(door, call, request, exchange)
}

/** Throws the refusal to answer. */
export async function messageTokens(door: ChatDoor, call: ChatCall, exchange: CallerExchange): Promise<void> {
  const request = readMessagesRequest(call.body, { headers: headersOf(call), forCount: true })
  const model = servedModel(door.catalog, call.caller, request.model)
  const rates = await door.relay.bookkeeper.takeRate(call.id, call.caller.keyId)
  const body = await countTokens(door.relay, model, request, exchange)
  const headers = ['content-type', 'application/json', ...rateHeaders(rates), ...call.headers]
  exchange.answer(200, headers, body)
}
