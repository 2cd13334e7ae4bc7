/**
 * The body of a Responses request for an upstream that speaks the Responses API: the caller's bytes with the model's name
 * changed, `store` set to false where the caller left it out, a lower maximum if the account requires it, and without
 * what this upstream cannot use: thinking of other providers, and searches that have no price.
 */
import { foreignSignatureMarker, unwrapSignature } from '../../formats/thinking-signature.ts'
import { isObject, type Json } from '../../providers/json-fields.ts'
import type { NativeEdits } from '../../providers/provider.ts'
import type { HostedTool } from './hosted-tools.ts'
import { patchBody, type ScannedRequest } from './request-body.ts'

type ResponsesBody = ScannedRequest & {
  readonly maxOutputTokens: number | null
  readonly hostedTools: readonly HostedTool[]
}

export function patchResponsesBody(body: ResponsesBody, edits: NativeEdits): Buffer[] {
  const changes = new Map<string, string>()
  if (edits.model !== null) changes.set('model', JSON.stringify(edits.model))
  for (const [name, value] of Object.entries(edits.extra ?? {})) changes.set(name, JSON.stringify(value))
  // OpenAI keeps a response for 30 days unless it is told not to.
  changes.set('store', 'false')
  const { maximumTokens } = edits
  if (maximumTokens !== null && maximumTokens < (body.maxOutputTokens ?? Infinity))
    changes.set('max_output_tokens', String(maximumTokens))
  const parsed = body.parsed()
  const tools = usableTools(body, parsed, edits.pricedTools)
  if (tools) changes.set('tools', JSON.stringify(tools))
  if (body.text.includes(foreignSignatureMarker)) changes.set('input', JSON.stringify(ownInput(parsed)))
  return patchBody(body, changes, [])
}

/** The tools without searches that have no price; `null`: they need no change. */
function usableTools(
  { hostedTools }: ResponsesBody,
  { tools }: Json,
  priced: NativeEdits['pricedTools'],
): unknown[] | null {
  const left = hostedTools.filter(({ isOptional, name }) => isOptional && priced?.has(name) !== true)
  if (!Array.isArray(tools) || left.length === 0) return null
  const indexes = new Set(left.map(({ index }) => index))
  const usable: unknown[] = tools
  return usable.filter((_, index) => !indexes.has(index))
}

/** The input without reasoning that another provider has written. */
function ownInput({ input }: Json): unknown {
  if (!Array.isArray(input)) return input
  return input.filter((item: unknown) => !(isObject(item) && unwrapSignature(item['encrypted_content'])))
}
