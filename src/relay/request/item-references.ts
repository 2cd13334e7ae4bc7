/**
 * References to items of earlier responses in the input of a Responses request (`item_reference`): the relay keeps these
 * items for a while, and puts them in the place of the references.
 */
import { apiError } from '../../errors.ts'
import { getString, type Json } from '../../providers/json-fields.ts'
import { MessageScanner } from './message-scanner.ts'
import { patchBody, scanBody } from './request-body.ts'
import { isReference } from './responses-body.ts'

/** An error that names the item. */
function invalidReference(index: number, problem: string): Error {
  const param = `input[${index}].id`
  return apiError('invalid_request', { param, message: `Invalid \`${param}\`: ${problem}` })
}

/** The ids of the items to which an input refers; `null`: it has no references. Throws 400 for one without an id, or twice. */
export function referencedIds({ input }: Json): readonly string[] | null {
  if (!Array.isArray(input) || !input.some(isReference)) return null
  const ids = new Set<string>()
  for (const [index, item] of input.entries()) {
    if (!isReference(item)) continue
    const id = getString(item, 'id') ?? ''
    if (id === '') throw invalidReference(index, 'must be the id of an item.')
    if (ids.has(id)) throw invalidReference(index, 'must occur only once.')
    ids.add(id)
  }
  return [...ids]
}

/** A response can do without reasoning; its ids begin with this at every provider, and here. */
const reasoningPrefix = 'rs_'

/**
 * The body with the items in place of the references. `items`: JSON texts by id. Reasoning that is gone is left out. Throws
 * 400 for any other item that is gone.
 */
export function withItems(body: Buffer, input: unknown, items: ReadonlyMap<string, string>): Buffer {
  const list: readonly unknown[] = Array.isArray(input) ? input : []
  const texts = list.flatMap((item, index) => {
    if (!isReference(item)) return JSON.stringify(item)
    const id = getString(item, 'id') ?? ''
    const found = items.get(id)
    if (found !== undefined) return found
    if (id.startsWith(reasoningPrefix)) return []
    throw invalidReference(
      index,
      `no item ${JSON.stringify(id.slice(0, 100))} is kept for this account. Set \`store: false\` in your client, so that it sends the items themselves.`,
    )
  })
  const scanned = scanBody(body, () => new MessageScanner({ list: 'input' }))
  return Buffer.concat(patchBody(scanned, new Map([['input', `[${texts.join(',')}]`]]), []))
}
