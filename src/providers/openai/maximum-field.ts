/**
 * The name under which the maximum of output tokens is sent to an upstream with the OpenAI format, which has two. What the
 * caller chose passes through, unless the upstream is known to ignore it.
 */
import type { Provider, UpstreamCall, UpstreamSettings } from '../provider.ts'

/** The upstream's own name of the maximum; `null`: its provider has only one. */
export function maximumFieldOf(provider: Provider | undefined, settings: UpstreamSettings): string | null {
  const field = provider?.maximumField
  return field === undefined ? null : (settings.maximumField ?? field)
}

/** @param own the upstream's own name */
export function sentMaximumField(
  own: string,
  call: Pick<UpstreamCall, 'withoutFields' | 'needsOwnField'> & { readonly callerField: string | null },
): string {
  const { callerField, needsOwnField, withoutFields } = call
  if (callerField !== null && needsOwnField !== true) return callerField
  const other = own === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  // If both names have been rejected, the upstream has changed since.
  return withoutFields?.has(own) === true && !withoutFields.has(other) ? other : own
}
