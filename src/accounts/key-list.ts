/**
 * The keys of all accounts, as an operator looks for them. Every order has its index, and so has what is looked for; a
 * part of a name is looked for in the index of names alone. Deleted keys and the console's own are not told.
 */
import { refuse } from '../errors.ts'
import type { Db } from '../db/db.ts'
import type { Parameter } from '../db/messages.ts'
import type { KeysTable } from '../db/schema/schema.ts'
import { beginning } from '../lib/beginning.ts'
import { keyOf, type Key } from './keys.ts'
import { secretPrefix, shownLength } from './key-secret.ts'

export const keyOrders = ['newest', 'oldest', 'last_used', 'longest_unused', 'name'] as const
export type KeyOrder = (typeof keyOrders)[number]

/** An expired key is that, whether it was switched off before or not. */
export const keyStates = ['active', 'disabled', 'expired'] as const
export type KeyState = (typeof keyStates)[number]

export interface KeyFilter {
  /** The beginning of a secret, an id, a part of a name, the beginning of an account's e-mail address. */
  readonly sought?: string | undefined
  readonly accountId?: string | undefined
  readonly state?: KeyState | undefined
}

export interface KeyPage {
  readonly order: KeyOrder
  /** At most so many. */
  readonly limit: number
  /** `next` of the page before. */
  readonly cursor?: string | undefined
  /** What has expired by then is expired; milliseconds since the epoch. */
  readonly now: number
}

interface Place {
  /** What the rows are ordered by; equal ones by their ids. */
  readonly by: string
  readonly isDescending: boolean
  readonly isNumber?: boolean
}

const places: Readonly<Record<KeyOrder, Place>> = {
  newest: { by: 'id', isDescending: true },
  oldest: { by: 'id', isDescending: false },
  last_used: { by: 'coalesce(last_used_at, 0)', isDescending: true, isNumber: true },
  longest_unused: { by: 'coalesce(last_used_at, 0)', isDescending: false, isNumber: true },
  name: { by: 'lower(name)', isDescending: false },
}

/** In the words of the indexes, which know no others. */
const living = `deleted_at is null and prefix <> ''`
/** So many are told by their ids; where there are more, the order finds the first ones sooner. */
const candidatesMost = 200

/** A condition with its parameters. */
type Condition = readonly [text: string, parameters: readonly Parameter[]]

function patternOf(text: string): string {
  return `%${text.replaceAll(/[!%_]/g, '!$&')}%`
}

/** `sk-slu-abcd…wxyz`, as the console shows a key, or as much of the secret as there is. */
function ofSecret(text: string): Condition {
  const [start = '', end = ''] = text.split('…')
  const begins: Condition = [`prefix >= ? and prefix < ?`, beginning(start.slice(0, shownLength))]
  return end === '' ? begins : [`${begins[0]} and last_four = ?`, [...begins[1], end]]
}

const ofAddress = `account_id in (select id from accounts where email_normalised >= ? and email_normalised < ?)`
const ofName = `lower(name) like lower(?) escape '!'`

/** By a part of a name or by the beginning of an account's address: the keys themselves while they are few. */
async function byWords(db: Db, text: string): Promise<Condition> {
  const address = beginning(text.toLowerCase())
  // The first condition says nothing; it leads to the index that has the names.
  const found = await db.report<{ id: string }>({
    sql: `select id from keys where ${living} and lower(name) >= '' and ${ofName}
      union all select id from keys where ${living} and ${ofAddress} limit ${candidatesMost + 1}`,
    parameters: [patternOf(text), ...address],
  })
  if (found.length > candidatesMost) return [`(${ofName} or ${ofAddress})`, [patternOf(text), ...address]]
  const ids = [...new Set(found.map(({ id }) => id))]
  return [ids.length === 0 ? '1 = 0' : `id in (${ids.map(() => '?').join(', ')})`, ids]
}

async function soughtBy(db: Db, text: string): Promise<Condition> {
  if (text.startsWith(secretPrefix)) return ofSecret(text)
  if (/^key_\w+$/.test(text)) return [`id >= ? and id < ?`, beginning(text)]
  if (/^acc_\w+$/.test(text)) return [`account_id = ?`, [text]]
  return byWords(db, text)
}

function inState(state: KeyState, now: number): Condition {
  if (state === 'expired') return [`expires_at is not null and expires_at <= ?`, [now]]
  // An index leads to the few that are switched off; to all others none would.
  const status = state === 'disabled' ? `status = 'disabled'` : `status <> 'disabled'`
  return [`${status} and (expires_at is null or expires_at > ?)`, [now]]
}

/** After the last row of the page before. Refuses with 400 a cursor of another order. */
function after(cursor: string, order: KeyOrder): Condition {
  const { by, isDescending, isNumber = false } = places[order]
  const match = /^(\w+) (key_\w+) (.*)$/s.exec(cursor)
  const [, ordered, id = '', place = ''] = match ?? []
  const value = isNumber ? Number(place) : place
  if (ordered !== order || Number.isNaN(value)) {
    throw refuse('invalid_request', { param: 'cursor', message: 'cursor is not one of this list.' })
  }
  const beyond = isDescending ? '<' : '>'
  return [`${by} ${beyond}= ? and (${by} ${beyond} ? or id ${beyond} ?)`, [value, value, id]]
}

interface Placed extends KeysTable {
  place: string | number
}

/** `next` is the cursor of the page after, null at the end. */
export async function pageOfKeys(
  db: Db,
  { sought = '', accountId, state }: KeyFilter,
  { order, limit, cursor, now }: KeyPage,
): Promise<{ data: Key[]; next: string | null }> {
  const conditions: Condition[] = [[living, []]]
  if (accountId !== undefined) conditions.push([`account_id = ?`, [accountId]])
  if (state !== undefined) conditions.push(inState(state, now))
  if (cursor !== undefined) conditions.push(after(cursor, order))
  if (sought !== '') conditions.push(await soughtBy(db, sought))
  const { by, isDescending } = places[order]
  const direction = isDescending ? 'desc' : 'asc'
  const rows = await db.report<Placed>({
    sql: `select *, ${by} as place from keys where ${conditions.map(([text]) => text).join(' and ')}
      order by ${by} ${direction}, id ${direction} limit ?`,
    parameters: [...conditions.flatMap(([, parameters]) => parameters), limit + 1],
  })
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = rows.length > limit && last !== undefined
  return { data: shown.map(keyOf), next: hasMore ? `${order} ${last.id} ${last.place}` : null }
}
