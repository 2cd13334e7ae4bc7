/**
 * The body of a Responses request for an upstream that speaks the Responses API: the caller's bytes with the model's name
 * changed, `store` set to false where the caller left it out, a lower maximum if the account requires it, and without
 * what this upstream cannot use: thinking of other providers, and searches, which have no price.
 */
import { foreignSignatureMarker, unwrapSignature } from '../../formats/thinking-signature.ts'
import { isObject, type Json } from '../../providers/json-fields.ts'
import { UnsupportedFeatureError, type NativeEdits } from '../../providers/provider.ts'
import { patchBody, type ScannedRequest } from './request-body.ts'

type ResponsesBody = ScannedRequest & { readonly maxOutputTokens: number | null }

/** Tools that the caller runs, or that cost nothing but tokens. */
const callerTools =
  /^(?:function|custom|namespace|apply_patch|local_shell|computer.*|tool_search|programmatic_tool_calling)$/

/** Throws `UnsupportedFeatureError` for a tool that the provider would bill. */
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
  const tools = usableTools(parsed)
  if (tools) changes.set('tools', JSON.stringify(tools))
  if (body.text.includes(foreignSignatureMarker)) changes.set('input', JSON.stringify(ownInput(parsed)))
  return patchBody(body, changes, [])
}

/** The tools without searches; `null`: they need no change. */
function usableTools({ tools, tool_choice: choice = 'auto' }: Json): unknown[] | null {
  if (!Array.isArray(tools)) return null
  const usable = tools.filter((tool: unknown, index) => {
    const type: unknown = isObject(tool) ? tool['type'] : undefined
    const isOwn = typeof type === 'string' && (callerTools.test(type) || isLocalShell(tool))
    const isSearch = typeof type === 'string' && type.startsWith('web_search')
    if (!isOwn && !(isSearch && (choice === 'auto' || choice === null)))
      throw new UnsupportedFeatureError(`tools[${index}]`, 'this model has no price for the tool. Remove it')
    return isOwn
  })
  return usable.length === tools.length ? null : usable
}

/** A shell without a container runs at the caller. */
function isLocalShell(tool: unknown): boolean {
  if (!isObject(tool) || tool['type'] !== 'shell') return false
  const { environment } = tool
  return !isObject(environment) || environment['type'] === 'local'
}

/** The input without reasoning that another provider has written. */
function ownInput({ input }: Json): unknown {
  if (!Array.isArray(input)) return input
  return input.filter((item: unknown) => !(isObject(item) && unwrapSignature(item['encrypted_content'])))
}
