/** Admission: money is set aside for a request, or it repeats one that has been answered, or it is refused. */
import { refuse } from '../errors.ts'
import type { Kept } from '../usage/stored-responses.ts'
import type { Asked, RelayDeps } from './relay-request.ts'
import type { HoldAsk, HoldGranted } from './ledger-client.ts'
import { inputEstimateForHold } from './request/token-estimate.ts'
import type { CallerExchange } from './exchange.ts'
import { answerIn, holdOnce } from './idempotency.ts'
import { rateHeaders } from './rate-headers.ts'
import { play } from './recording.ts'

/** Gives a kept answer once more; nothing is asked, held or charged. */
export function replay(deps: RelayDeps, asked: Asked, exchange: CallerExchange, kept: Kept): void {
  const { claim, common, progress } = asked
  if (!claim) throw new Error('A request without a key cannot repeat another.')
  const answer = answerIn(kept, claim)
  progress.isAdmitted = true
  for (const [place, value] of common.entries()) if (value === asked.id) common[place] = kept.requestId
  play(answer, kept.cost, exchange, ['idempotent-replayed', 'true'])
  deps.onReplay(asked, kept.requestId)
}

/** Throws the refusal. `Kept`: what the first request under its key came to. */
export async function admit(deps: RelayDeps, asked: Asked): Promise<HoldGranted | Kept> {
  const { request, model, caller, claim } = asked
  const ask: HoldAsk = {
    id: asked.id,
    keyId: caller.keyId,
    model: model.id,
    inputTokens: inputEstimateForHold(request.bytes, request.embedded),
    results: request.n,
    askedTokens: request.maxOutputTokens,
    stream: request.stream,
  }
  const answer = claim ? await holdOnce(deps, caller.accountId, ask, claim) : await deps.bookkeeper.hold(ask)
  if ('requestId' in answer) return answer
  if (answer.rates) asked.headers.push(...rateHeaders(answer.rates))
  if (!answer.granted) throw refuse(answer.code, answer.detail)
  return answer
}
