/** `POST /v1/chat/completions`: reads and checks the request, then hands it to the relay. */
import { allowsModel } from '../../accounts/allowlists.ts'
import type { Caller } from '../../accounts/directory.ts'
import type { Catalog, PricedModel } from '../../catalog/catalog.ts'
import { refuse } from '../../errors.ts'
import type { Progress, RelayDeps, Running } from '../../relay/relay-request.ts'
import type { CallerRequest } from '../../relay/caller-format.ts'
import type { CallerExchange } from '../../relay/exchange.ts'
import type { Slots } from '../../lib/slots.ts'
import { claimOf } from '../../relay/idempotency.ts'
import { relayChat } from '../../relay/relay.ts'
import type { Arrival } from '../incoming-request.ts'
import { fallbacksOf } from '../../relay/fallbacks.ts'
import { readChatRequest } from '../../relay/request/request-body.ts'

export interface ChatDoor {
  readonly relay: RelayDeps
  readonly catalog: Catalog
  /** Requests that run now. */
  readonly running: Slots<Running>
}

/** The model that a request names, if its key may call it. Throws 403 or 404 naming `model`. */
export function servedModel(catalog: Catalog, caller: Caller, name: string): PricedModel {
  const model = catalog.model(name)
  if (!model) {
    throw refuse('model_not_found', {
      param: 'model',
      message: `The model ${JSON.stringify(name)} does not exist.`,
    })
  }
  if (!allowsModel(caller.models, name)) throw refuse('model_not_allowed', { param: 'model' })
  return model
}

export interface ChatCall {
  readonly id: string
  readonly caller: Caller
  readonly arrival: Arrival
  readonly body: Buffer
  /** Headers of every answer, the request's id among them. */
  readonly common: string[]
  readonly headers: string[]
  readonly progress: Progress
  /** `performance.now()` at arrival. */
  readonly startedMs: number
}

/** Throws the refusal to answer when nothing has been sent. */
export async function chatCompletions(
  door: ChatDoor,
  call: ChatCall,
  exchange: CallerExchange,
): Promise<void> {
  await relayRequest(door, call, readChatRequest(call.body), exchange)
}

/** What every format of callers has in common: the model has to be served, and the relay does the rest. */
export function relayRequest(
  door: ChatDoor,
  call: ChatCall,
  request: CallerRequest,
  exchange: CallerExchange,
): Promise<void> {
  call.progress.model = request.model
  call.progress.stream = request.stream
  const model = servedModel(door.catalog, call.caller, request.model)
  const { id, caller, arrival, common, headers, progress, startedMs } = call
  const key = arrival.header('idempotency-key')
  const claim = key === undefined ? null : claimOf(key, arrival.path, call.body)
  const fallbacks = fallbacksOf(door.catalog, model, caller)
  const asked = { id, caller, model, fallbacks, request, claim, common, headers, progress, startedMs }
  return relayChat(door.relay, asked, exchange, door.running)
}
