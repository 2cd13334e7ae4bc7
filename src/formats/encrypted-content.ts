/**
 * Items of the Responses API with `encrypted_content`, which only the organization that wrote them can read. On the way
 * to the caller it gets a suffix that names the upstream's credential. On the way back, the suffix routes the request to
 * that credential, and is removed.
 */
import { getString, isObject } from '../providers/json-fields.ts'
import { UnsupportedFeatureError } from '../providers/provider.ts'

export const holderMarker = '.sluice.'
export const holderLength = 12
const suffixPattern = /\.sluice\.(?<holder>[\w-]{12})$/
/** The field in JSON, up to the quote that ends its value. In a text, its own quotes would be escaped. */
const fieldPattern = /"encrypted_content"\s*:\s*"[^"\\]+(?:\\.[^"\\]*)*(?=")/g
const suffixesPattern = /\.sluice\.(?<holder>[\w-]{12})(?=")/g

/** Whether a response or event, as JSON, has content that only its holder can read. */
export function isHeld(json: { includes(text: string): boolean }): boolean {
  return json.includes('"encrypted_content"')
}

/** JSON text of a response or event whose `encrypted_content` names its holder. */
export function addHolder(text: string, holder: string): string {
  return isHeld(text) ? text.replace(fieldPattern, (field) => `${field}${holderMarker}${holder}`) : text
}

/** The holder of the last item of an input that names one; `null`: none does. */
export function lastHolder(input: unknown): string | null {
  if (!Array.isArray(input)) return null
  for (const item of input.toReversed() as unknown[]) {
    const named = [item, ...partsOf(item)].map(holderIn).find((holder) => holder !== undefined)
    if (named !== undefined) return named
  }
  return null
}

/** Messages of other agents have it in their parts. */
function partsOf(item: unknown): readonly unknown[] {
  return isObject(item) && Array.isArray(item['content']) ? item['content'] : []
}

function holderIn(item: unknown): string | undefined {
  const content = isObject(item) ? getString(item, 'encrypted_content') : undefined
  return content === undefined ? undefined : suffixPattern.exec(content)?.groups?.['holder']
}

/** All holders in the JSON text of a request's input. */
export function holdersIn(text: string): Set<string> {
  return new Set(Array.from(text.matchAll(suffixesPattern), ({ groups }) => groups?.['holder'] ?? ''))
}

/** JSON text of an input without the suffix of this holder; all else is unchanged. */
export function removeHolder(text: string, holder: string): string {
  return text.replaceAll(`${holderMarker}${holder}"`, '"')
}

/**
 * The item as its holder knows it; `null`: another organization has written it, and the request can do without it. Throws
 * `UnsupportedFeatureError` if it cannot.
 */
export function itemForHolder(item: unknown, path: string, holder: string): unknown {
  if (!isObject(item)) return item
  const parts = partsOf(item)
  if (parts.some((part) => holderIn(part) !== undefined)) {
    const readable = parts.filter((part) => (holderIn(part) ?? holder) === holder)
    return { ...item, content: readable.map(withoutHolder) }
  }
  const named = holderIn(item)
  if (named === undefined || named === holder) return withoutHolder(item)
  // Reasoning is optional for a new turn; a compacted conversation is not.
  if (item['type'] === 'reasoning') return null
  throw new UnsupportedFeatureError(
    `${path}.encrypted_content`,
    'only the upstream that wrote it can read it',
  )
}

function withoutHolder(value: unknown): unknown {
  if (!isObject(value) || holderIn(value) === undefined) return value
  const own = getString(value, 'encrypted_content')?.slice(0, -holderMarker.length - holderLength)
  return { ...value, encrypted_content: own }
}
