/**
 * The body of a Responses request for an upstream that speaks the Responses API: the caller's bytes with the model's name
 * changed, `store` set to false unless the caller asks for it, a lower maximum if the account requires it, and without
 * what this upstream cannot use: thinking of other providers, and searches that have no price.
 */
import { holderMarker, holdersIn, itemForHolder, removeHolder } from '../../formats/encrypted-content.ts'
import { foreignSignatureMarker, unwrapSignature } from '../../formats/thinking-signature.ts'
import { isObject, type Json } from '../../providers/json-fields.ts'
import { UnsupportedFeatureError, type NativeEdits } from '../../providers/provider.ts'
import type { HostedTool } from './hosted-tools.ts'
import { patchBody, type ScannedRequest } from './request-body.ts'

type ResponsesBody = ScannedRequest & {
  readonly maxOutputTokens: number | null
  readonly store: boolean
  readonly hostedTools: readonly HostedTool[]
}

/** `dropped`: fields that the path does not take. */
export function patchResponsesBody(
  body: ResponsesBody,
  edits: NativeEdits,
  dropped: readonly string[] = [],
): Buffer[] {
  const changes = new Map<string, string>()
  if (edits.model !== null) changes.set('model', JSON.stringify(edits.model))
  for (const [name, value] of Object.entries(edits.extra ?? {})) changes.set(name, JSON.stringify(value))
  // OpenAI stores a response for 30 days unless `store` is false.
  if (!dropped.includes('store')) changes.set('store', String(body.store))
  const { maximumTokens } = edits
  if (maximumTokens !== null && maximumTokens < (body.maxOutputTokens ?? Infinity))
    changes.set('max_output_tokens', String(maximumTokens))
  const parsed = body.parsed()
  const tools = usableTools(body, parsed, edits.pricedTools)
  if (tools) changes.set('tools', JSON.stringify(tools))
  assertNoReferences(parsed)
  const input = ownInput(body, parsed, edits.holder ?? '')
  if (input !== null) changes.set('input', input)
  return patchBody(body, changes, dropped)
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

/** A reference to an item of an earlier response. Its type may be left out. */
export function isReference(item: unknown): item is Json {
  return isObject(item) && (item['type'] === 'item_reference' || isBareId(item))
}

/**
 * Items that a provider stores belong to the operator's organization there: a caller could name another account's. The
 * relay has replaced all references to items of its own (item-references.ts).
 */
export function assertNoReferences({ input }: Json): void {
  if (!Array.isArray(input)) return
  const index = input.findIndex(isReference)
  if (index !== -1) throw new UnsupportedFeatureError(`input[${index}].type`, 'send the item itself')
}

function isBareId({ type, role, content }: Json): boolean {
  return (type ?? null) === null && role === undefined && content === undefined
}

/** Whether only its id says what the item contains. */
function isKnownById(item: unknown): item is Json {
  if (!isObject(item) || item['id'] === undefined) return false
  const { type, encrypted_content: encrypted, content, result } = item
  if (type === 'reasoning') return typeof encrypted !== 'string' && content === undefined
  return type === 'image_generation_call' && typeof result !== 'string'
}

/** The input without reasoning that only others can read, as JSON text; `null`: it needs no change. */
export function ownInput(
  { text, members }: Pick<ResponsesBody, 'text' | 'members'>,
  { input }: Json,
  holder: string,
): string | null {
  if (!Array.isArray(input)) return null
  const hasOthers = text.includes(foreignSignatureMarker) || input.some(isKnownById)
  if (!hasOthers && !text.includes(holderMarker)) return null
  const member = members.find(({ key }) => key === 'input')
  const received = text.toString('utf8', member?.start, member?.end)
  const holders = holdersIn(received)
  holders.delete(holder)
  if (!hasOthers && holders.size === 0) return removeHolder(received, holder)
  const own = input.flatMap((item: unknown, index) => {
    if (isObject(item) && unwrapSignature(item['encrypted_content'])) return []
    if (isKnownById(item)) return item['type'] === 'reasoning' ? withoutId(item) : []
    return itemForHolder(item, `input[${index}]`, holder) ?? []
  })
  return JSON.stringify(own)
}

function withoutId({ id: _id, ...item }: Json): Json {
  return item
}
