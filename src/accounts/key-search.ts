/**
 * Searches the keys of all accounts for an operator. Every order and every search has an index; a part of a
 * name is searched in the index of names only. Deleted keys and the console's own keys are never returned.
 */
import { apiError } from '../errors.ts'
import type { Db, Page, PageOptions } from '../db/db.ts'
import type { Parameter } from '../db/statement.ts'
import type { KeysTable } from '../db/schema/schema.ts'
import { likePattern, prefixRange } from '../db/db.ts'
import { keyOf, type Key } from './keys.ts'
import { secretPrefix, visiblePrefixLength } from './key-secret.ts'

export const keyOrders = ['newest', 'oldest', 'last_used', 'longest_unused', 'name'] as const
export type KeyOrder = (typeof keyOrders)[number]

/** An expired key counts as expired even if it was disabled before. */
export const keyStates = ['active', 'disabled', 'expired'] as const
export type KeyState = (typeof keyStates)[number]

export interface KeyFilter {
  /** A prefix of a secret, an id, a part of a name, or a prefix of an account's e-mail address. */
  readonly search?: string | undefined
  readonly accountId?: string | undefined
  readonly state?: KeyState | undefined
}

export interface KeyPage extends PageOptions {
  readonly order: KeyOrder
  /** Keys that expire up to this time count as expired, in milliseconds since the epoch. */
  readonly now: number
}

interface SortColumn {
  /** The SQL expression to order by; ties are ordered by id. */
  readonly expression: string
  readonly isDescending: boolean
  readonly isNumber?: boolean
}

const sortColumns: Readonly<Record<KeyOrder, SortColumn>> = {
  newest: { expression: 'id', isDescending: true },
  oldest: { expression: 'id', isDescending: false },
  last_used: { expression: 'coalesce(last_used_at, 0)', isDescending: true, isNumber: true },
  longest_unused: { expression: 'coalesce(last_used_at, 0)', isDescending: false, isNumber: true },
  name: { expression: 'lower(name)', isDescending: false },
}

/** Exactly the condition of the partial indexes; SQLite uses them for no other. */
const visibleKeys = `deleted_at is null and prefix <> ''`
/** Up to this many matches are selected by id. Beyond that, scanning in order finds the first ones sooner. */
const maxCandidates = 200

/** An SQL condition with its parameters. */
type Condition = readonly [text: string, parameters: readonly Parameter[]]

/** `sk-slu-abcd…wxyz`, as the console shows a key, or a prefix of the secret. */
function secretCondition(text: string): Condition {
  const [start = '', end = ''] = text.split('…')
  const prefixCondition: Condition = [
    `prefix >= ? and prefix < ?`,
    prefixRange(start.slice(0, visiblePrefixLength)),
  ]
  return end === ''
    ? prefixCondition
    : [`${prefixCondition[0]} and last_four = ?`, [...prefixCondition[1], end]]
}

const emailCondition = `account_id in (select id from accounts where email_normalised >= ? and email_normalised < ?)`
const nameCondition = `lower(name) like lower(?) escape '!'`

/** By a part of a name or a prefix of an account's e-mail address. Selects by id if there are few matches. */
async function textCondition(db: Db, text: string): Promise<Condition> {
  const emailRange = prefixRange(text.toLowerCase())
  // The first condition is always true; it makes SQLite use the index of names.
  const candidates = await db.report<{ id: string }>({
    sql: `select id from keys where ${visibleKeys} and lower(name) >= '' and ${nameCondition}
      union all select id from keys where ${visibleKeys} and ${emailCondition} limit ${maxCandidates + 1}`,
    parameters: [likePattern(text), ...emailRange],
  })
  if (candidates.length > maxCandidates)
    return [`(${nameCondition} or ${emailCondition})`, [likePattern(text), ...emailRange]]
  const ids = [...new Set(candidates.map(({ id }) => id))]
  return [ids.length === 0 ? '1 = 0' : `id in (${ids.map(() => '?').join(', ')})`, ids]
}

async function searchCondition(db: Db, text: string): Promise<Condition> {
  if (text.startsWith(secretPrefix)) return secretCondition(text)
  if (/^key_\w+$/.test(text)) return [`id >= ? and id < ?`, prefixRange(text)]
  if (/^acc_\w+$/.test(text)) return [`account_id = ?`, [text]]
  return textCondition(db, text)
}

function stateCondition(state: KeyState, now: number): Condition {
  if (state === 'expired') return [`expires_at is not null and expires_at <= ?`, [now]]
  // An index leads to the few disabled keys. For all others an index would not help.
  const status = state === 'disabled' ? `status = 'disabled'` : `status <> 'disabled'`
  return [`${status} and (expires_at is null or expires_at > ?)`, [now]]
}

/** After the last row of the previous page. Throws 400 for a cursor of another order. */
function cursorCondition(cursor: string, order: KeyOrder): Condition {
  const { expression, isDescending, isNumber = false } = sortColumns[order]
  const match = /^(\w+) (key_\w+) (.*)$/s.exec(cursor)
  const [, cursorOrder, id = '', position = ''] = match ?? []
  const value = isNumber ? Number(position) : position
  if (cursorOrder !== order || Number.isNaN(value)) {
    throw apiError('invalid_request', { param: 'cursor', message: 'Invalid cursor for this list.' })
  }
  const comparison = isDescending ? '<' : '>'
  return [
    `${expression} ${comparison}= ? and (${expression} ${comparison} ? or id ${comparison} ?)`,
    [value, value, id],
  ]
}

interface PositionedKey extends KeysTable {
  place: string | number
}

/** `next` is the cursor of the next page; null on the last one. */
export async function searchKeys(
  db: Db,
  { search = '', accountId, state }: KeyFilter,
  { order, limit, cursor, now }: KeyPage,
): Promise<Page<Key>> {
  const conditions: Condition[] = [[visibleKeys, []]]
  if (accountId !== undefined) conditions.push([`account_id = ?`, [accountId]])
  if (state !== undefined) conditions.push(stateCondition(state, now))
  if (cursor !== undefined) conditions.push(cursorCondition(cursor, order))
  if (search !== '') conditions.push(await searchCondition(db, search))
  const { expression, isDescending } = sortColumns[order]
  const direction = isDescending ? 'desc' : 'asc'
  const rows = await db.report<PositionedKey>({
    sql: `select *, ${expression} as place from keys where ${conditions.map(([text]) => text).join(' and ')}
      order by ${expression} ${direction}, id ${direction} limit ?`,
    parameters: [...conditions.flatMap(([, parameters]) => parameters), limit + 1],
  })
  const visible = rows.slice(0, limit)
  const last = visible.at(-1)
  const hasMore = rows.length > limit && last !== undefined
  return { data: visible.map(keyOf), next: hasMore ? `${order} ${last.id} ${last.place}` : null }
}
