/**
 * Lists that are short enough to be read whole, such as models, tiers or an account's keys: all of them, unless a script
 * asks for pages, as it may of every list.
 */
import { z } from '@hono/zod-openapi'
import { openedCursor, sealedCursor } from './schemas.ts'

/** Of the query: without `limit` everything is told. */
export const shortListFields = {
  limit: z.coerce.number().int().min(1).max(1000).optional(),
  cursor: z.string().max(1000).optional().meta({ description: '`next` of the page before.' }),
}

interface Asked {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/**
 * The page asked for. A cursor names the last item shown, and its place: where that one is gone meanwhile, the list goes
 * on in its place. Refuses with 400 a cursor of another list.
 */
export function shownOf<Item>(
  items: readonly Item[],
  { limit = items.length, cursor }: Asked,
  nameOf: (item: Item) => string,
): { data: Item[]; next: string | null } {
  const opened = openedCursor(cursor, /^\d{1,9} /)
  const space = opened?.indexOf(' ') ?? 0
  const place = opened === undefined ? 0 : Number(opened.slice(0, space))
  const last = opened?.slice(space + 1)
  const found = last === undefined ? -1 : items.findIndex((item) => nameOf(item) === last)
  const from = found === -1 ? place : found + 1
  const data = items.slice(from, from + limit)
  const end = data.at(-1)
  const hasMore = from + data.length < items.length && end !== undefined
  return { data, next: hasMore ? sealedCursor(`${from + data.length - 1} ${nameOf(end)}`) : null }
}
