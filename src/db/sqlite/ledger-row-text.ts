/**
 * Reads entries and bills as text, many rows in one string: comparing a million rows as text costs a fraction of creating
 * a million objects. Fields are separated by the unit separator, rows by the line feed. Equal texts have the same number
 * of both, so a separator cannot hide inside a field.
 */
import type { Connection } from './connection.ts'

const unitSeparator = 31
const lineFeed = 10

export interface EntryFields {
  readonly at: number
  readonly debit: string
  readonly credit: string
  readonly amount: bigint
  readonly kind: string
  readonly account: string
  readonly ref: string
  readonly reason: string | null
  readonly source: string | null
}

export interface CommittedEntry {
  readonly seq: number
  readonly entry: EntryFields
}

export interface BillFields {
  readonly id: string
  readonly cost: bigint
  readonly input: number
  readonly cachedInput: number
  readonly output: number
  readonly reasoning: number
}

/** Distinguishes null from an empty text. */
const encodeNullable = (text: string | null): string => (text === null ? '-' : `+${text}`)

/** Returns the offset after this field if it matches; otherwise -1. */
function matchField(text: string, at: number, field: string): number {
  if (at === -1 || !text.startsWith(field, at)) return -1
  const end = at + field.length
  return text.charCodeAt(end) === unitSeparator ? end + 1 : -1
}

function matchFields(text: string, at: number, fields: readonly string[]): number {
  let next = at
  for (const field of fields) next = matchField(text, next, field)
  return next !== -1 && text.charCodeAt(next) === lineFeed ? next + 1 : -1
}

/** Returns the offset after this entry if it matches; otherwise -1. */
export function matchEntry(text: string, at: number, { seq, entry }: CommittedEntry): number {
  const { debit, credit, amount, kind, account, ref, reason, source } = entry
  const details = [kind, account, ref, encodeNullable(reason), encodeNullable(source)]
  return matchFields(text, at, [String(seq), String(entry.at), debit, credit, String(amount), ...details])
}

/** Returns the offset after this bill if it matches; otherwise -1. */
export function matchBill(text: string, at: number, bill: BillFields): number {
  const { id, cost, input, cachedInput, output, reasoning } = bill
  const tokens = [String(input), String(cachedInput), String(output), String(reasoning)]
  return matchFields(text, at, [id, String(cost), ...tokens])
}

const lineSql = (columns: readonly string[]): string =>
  `concat_ws(char(${unitSeparator}), ${columns.join(', ')}) || char(${unitSeparator}, ${lineFeed})`
const entryColumns = ['seq', 'at', 'debit', 'credit', 'amount_nanos', 'kind', `coalesce(account_id, '-')`]
const aboutColumns = [`coalesce(ref, '-')`, `coalesce('+' || reason, '-')`, `coalesce('+' || source, '-')`]
const billColumns = ['request_id', 'cost_nanos', 'prompt_tokens', 'cached_tokens', 'completion_tokens']

const entriesSql = `select group_concat(line, '') as text, max(id) as last from (
  select id, ${lineSql([...entryColumns, ...aboutColumns])} as line
  from entries where id > ? order by id limit ?)`

const billsSql = `select group_concat(line, '') as text, max(row_id) as last from (
  select row_id, ${lineSql([...billColumns, 'reasoning_tokens'])} as line
  from requests where row_id > ? and cost_nanos <> 0 order by row_id limit ?)`

/** Reads one of the two tables page by page. */
export class RowTextReader {
  readonly #connection: Connection
  readonly #sql: string
  #after = 0

  constructor(connection: Connection, table: 'entries' | 'bills') {
    this.#connection = connection
    this.#sql = table === 'entries' ? entriesSql : billsSql
  }

  /** Returns at most `count` further rows; empty at the end. */
  next(count: number): string {
    if (count === 0) return ''
    const [row] = this.#connection.run({ sql: this.#sql, parameters: [this.#after, count] }).rows
    if (typeof row?.['last'] === 'number') this.#after = row['last']
    return typeof row?.['text'] === 'string' ? row['text'] : ''
  }
}
