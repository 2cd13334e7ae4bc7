/**
 * Wraps the thinking of other providers in the callers' formats. Clients send thinking back with its signature and do not
 * know which provider made it; so a wrapped signature names its provider, and goes back to that one only.
 */
import { isObject, type Json } from '../providers/json-fields.ts'
import { isSignedElsewhere } from '../providers/reasoning-details.ts'
import type { ProviderCapabilities } from './provider-capabilities.ts'

const signaturePrefix = 'sluice.'

/** The prefix as it occurs in a request's bytes. */
export const foreignSignatureMarker = `"${signaturePrefix}`

/** The content of a wrapped signature: the provider and, if there was one, its own signed detail. */
export interface WrappedThinking {
  readonly provider: string
  readonly detail: Json | undefined
}

/** Wraps a signature, or redacted data, of a provider. `detail`: as in `reasoning_details`, without its text. */
export function wrapSignature(provider: string, detail?: Json): string {
  return signaturePrefix + Buffer.from(JSON.stringify({ provider, detail })).toString('base64url')
}

/** Unwraps a signature; `null` if it is not a wrapped one. */
export function unwrapSignature(signature: unknown): WrappedThinking | null {
  if (typeof signature !== 'string' || !signature.startsWith(signaturePrefix)) return null
  try {
    const value: unknown = JSON.parse(
      Buffer.from(signature.slice(signaturePrefix.length), 'base64url').toString(),
    )
    if (!isObject(value) || typeof value['provider'] !== 'string') return null
    const { detail } = value
    return { provider: value['provider'], detail: isObject(detail) ? detail : undefined }
  } catch {
    return null
  }
}

/** Is this a block of thinking from another provider than Anthropic? */
export function isForeignThinking(block: unknown): boolean {
  if (!isObject(block)) return false
  const proof = block['type'] === 'thinking' ? block['signature'] : block['data']
  const isThinking = block['type'] === 'thinking' || block['type'] === 'redacted_thinking'
  return isThinking && typeof proof === 'string' && proof.startsWith(signaturePrefix)
}

/** The detail with its text. */
export function withText(text: string, detail: Json): Json {
  return detail['type'] === 'reasoning.summary' ? { ...detail, summary: text } : { ...detail, text }
}

/** The detail without its text, which the block's `thinking` has. */
export function withoutText({ text: _text, summary: _summary, ...rest }: Json): Json {
  return rest
}

/** Thinking that only its provider can read, or that belongs to a tool call. */
export function isEncrypted(detail: Json): boolean {
  return detail['type'] !== 'reasoning.text' && detail['type'] !== 'reasoning.summary'
}

/** Thinking as the caller sends it back. */
export interface ReturnedThinking {
  readonly text: string
  /** As of `wrapSignature`, or another provider's own. */
  readonly signature: unknown
}

/**
 * The fields of an assistant message with the thinking that goes back to the provider that made it. Unwrapped signatures
 * are dropped, since only the provider that is named in a wrapped one can read it.
 */
export function restoreThinking(
  thinking: readonly ReturnedThinking[],
  { provider, isTranslated, signedThinking }: ProviderCapabilities,
): { readonly reasoning_content: string | undefined; readonly reasoning_details: Json[] | undefined } {
  let texts = ''
  const details: Json[] = []
  for (const { text, signature } of thinking) {
    const made = unwrapSignature(signature)
    if (!made || (made.provider !== provider && !isTranslated)) continue
    if (!signedThinking && isSignedElsewhere(made.detail)) continue
    texts += text
    if (made.detail) details.push(isEncrypted(made.detail) ? made.detail : withText(text, made.detail))
  }
  return {
    reasoning_content: texts === '' || isTranslated ? undefined : texts,
    reasoning_details: details.length > 0 ? details : undefined,
  }
}
