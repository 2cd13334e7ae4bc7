/**
 * What a response shows about its route: whether it obeys the maximum of output tokens that the request asked for. An
 * upstream that ignores it may respond at any length, whatever was held.
 */
import type { MaximumState } from '../catalog/route-maximums.ts'
import { billingLimitsOf } from '../providers/billing-limits.ts'
import { askedMaximum, extraOutput, maxOutputTokensOf, type OutputBound, type ServedRequest } from './bill.ts'
import type { UsageMeter } from './streaming/usage-meter.ts'

/** Some engines count the tokens that end a text or frame a tool call, too: of each result. */
const toleratedTokens = 8
/** The relay's own count may be far above the provider's. */
const toleratedEstimate = 64
const exceededFactor = 8
const doubtfulFactor = 2

type MeteredResponse = Pick<UsageMeter, 'usage' | 'tokensWithoutRuns' | 'finishReason'>

type ObservedRequest = Pick<ServedRequest, 'request' | 'route' | 'loweredMaximum' | 'minMaximumTokens'> & {
  readonly servedModel: OutputBound
}

/**
 * The state of the route after the response; `null`: the response shows nothing. `unseen`: a route that was seen to obey
 * counts as unseen again.
 */
export function observedMaximum(
  { usage, tokensWithoutRuns: tokens, finishReason }: MeteredResponse,
  served: ObservedRequest,
): MaximumState | null {
  const { request, servedModel, route } = served
  const asked = askedMaximum(served)
  const maximum = (asked ?? maxOutputTokensOf(servedModel)) * request.n
  if (usage === null) {
    if (tokens <= maximum * doubtfulFactor + toleratedEstimate || extraOutput(served) > 0) return null
    const isExceeded = !request.stream && tokens > maximum * exceededFactor + toleratedEstimate
    return isExceeded ? 'exceeded' : 'unseen'
  }
  const { output, reasoning } = usage
  const tolerated = toleratedTokens * request.n
  const { excludesReasoning } = billingLimitsOf(route?.upstream.provider ?? '')
  if (output - (excludesReasoning ? reasoning : 0) > maximum + tolerated)
    return extraOutput(served) > 0 ? null : 'exceeded'
  // A response that was cut far below the maximum was cut for another reason, such as the model's context.
  const isAtMaximum = output >= Math.max(maximum - tolerated, maximum / 2)
  return asked !== null && finishReason === 'length' && isAtMaximum ? 'obeyed' : null
}
