/** Pagination: long lists always come in pages; short ones (models, tiers, an account's keys) only on request. */
import { z } from '@hono/zod-openapi'
import { decodeCursor, encodeCursor } from './json-values.ts'

const maxPageSize = 1000
const defaultPageSize = 100

/** Query fields of a list that always comes in pages. */
export const pageFields = {
  limit: z.coerce.number().int().min(1).max(maxPageSize).default(defaultPageSize),
  cursor: z.string().max(200).optional().meta({ description: '`next` of the previous page.' }),
}

/** Query fields of a short list. Without `limit` the response contains all items. */
export const optionalPageFields = {
  limit: z.coerce.number().int().min(1).max(1000).optional(),
  cursor: z.string().max(1000).optional().meta({ description: '`next` of the previous page.' }),
}

/** Cursors of lists in the order of ids. */
export const idCursor = /^\w{1,60}$/

export interface PageQuery {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/**
 * Returns the requested page. A cursor holds the id and the position of the last item returned: if that item has been
 * deleted since, the list continues at its position. Throws 400 if the cursor belongs to another list.
 */
export function paginate<Item>(
  items: readonly Item[],
  { limit = items.length, cursor }: PageQuery,
  idOf: (item: Item) => string,
): { data: Item[]; next: string | null } {
  const position = decodeCursor(cursor, /^\d{1,9} /)
  const space = position?.indexOf(' ') ?? 0
  const offset = position === undefined ? 0 : Number(position.slice(0, space))
  const last = position?.slice(space + 1)
  const index = last === undefined ? -1 : items.findIndex((item) => idOf(item) === last)
  const from = index === -1 ? offset : index + 1
  const data = items.slice(from, from + limit)
  const end = data.at(-1)
  const hasMore = from + data.length < items.length && end !== undefined
  return { data, next: hasMore ? encodeCursor(`${from + data.length - 1} ${idOf(end)}`) : null }
}
