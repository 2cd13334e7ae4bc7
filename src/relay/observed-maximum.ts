/**
 * What a response shows about its upstream: whether it obeys the maximum of output tokens that the request asked for (admin
 * API, "A maximum that the upstream ignores"). Engines that ignore one answer as long as they like, whatever was held.
 */
import type { MaximumState } from '../catalog/route-maximums.ts'
import { minOutputTokens } from '../providers/openai/responses-call.ts'
import type { UsageMeter } from './streaming/usage-meter.ts'

/** Some engines count the tokens that end a text or frame a tool call, too. */
const toleratedTokens = 8
/** Without the provider's count, the relay's own estimate must exceed the maximum by far. */
const estimateFactor = 2
const toleratedEstimate = 64

/**
 * @param asked the maximum of output tokens over all results that left the relay
 * @returns null: the response shows nothing
 */
export function observedMaximum(
  { usage, tokens, finishReason }: Pick<UsageMeter, 'usage' | 'tokens' | 'finishReason'>,
  asked: number,
): Exclude<MaximumState, 'unseen'> | null {
  if (usage === null) return tokens > asked * estimateFactor + toleratedEstimate ? 'exceeded' : null
  // Some providers bill reasoning in addition to the maximum. A lower one is raised for the Responses API.
  const allowed = Math.max(asked, minOutputTokens) + toleratedTokens
  if (usage.output - usage.reasoning > allowed) return 'exceeded'
  // A response that was cut far below the maximum was cut for another reason, such as the model's context.
  return finishReason === 'length' && usage.output >= asked / 2 ? 'obeyed' : null
}
