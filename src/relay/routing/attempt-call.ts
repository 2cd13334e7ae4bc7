/** A call of an upstream, and how to make it. */
import type { LiveUpstream } from '../../catalog/catalog.ts'
import type { Provider, UpstreamCall } from '../../providers/provider.ts'
import type { RequestEncoding } from '../request/caller-format.ts'

type Timeouts = LiveUpstream['timeouts']

/** The timeouts, each at most this long. A stream that has started may be idle for as long as otherwise. */
export function boundTimeouts(timeouts: Timeouts, maxMs: number, stream: boolean): Timeouts {
  return {
    connectMs: Math.min(timeouts.connectMs, maxMs),
    firstTokenMs: Math.min(timeouts.firstTokenMs, maxMs),
    idleMs: stream ? timeouts.idleMs : Math.min(timeouts.idleMs, maxMs),
    answerMs: Math.min(timeouts.answerMs, maxMs),
  }
}

export interface AttemptCall extends UpstreamCall {
  readonly provider: Provider
  /** Encodes the request for the provider, and the response for the caller. */
  readonly body: RequestEncoding
  readonly timeouts: Timeouts
  /** The URL of the proxy, if calls go through one. */
  readonly proxy: string | null
  /** Tokens that an honest stream may have beyond `maxStreamTokens`; absent: none. */
  readonly extraOutput?: () => number
  /** Called with the output tokens so far of a stream that is collected. */
  readonly onCollect?: ((tokens: number) => void) | undefined
}

/** A request as it was sent. */
export type SentRequest = Pick<
  AttemptCall,
  'body' | 'provider' | 'settings' | 'maximumTokens' | 'withoutFields' | 'needsOwnField'
>

export interface RejectedField {
  /** A hint (request-hints.ts), a field for the maximum of output tokens, or of responses-quirks.ts. */
  readonly field: string
  /** The upstream rejects it in every request, so that other callers' requests go without it, too. */
  readonly isAlways: boolean
}

/** A call outside of failover: the request is sent as it is, and must be answered within this time. */
export function singleCall(
  { baseUrl, settings, timeouts, proxy, added }: LiveUpstream,
  call: Pick<AttemptCall, 'provider' | 'body' | 'model' | 'credential' | 'nowMs'>,
  maxMs: number,
): AttemptCall {
  const unlimited = { maximumTokens: null, modelMaximumTokens: null }
  const bounded = boundTimeouts(timeouts, maxMs, false)
  return { ...call, ...unlimited, baseUrl, settings, timeouts: bounded, proxy, added }
}
