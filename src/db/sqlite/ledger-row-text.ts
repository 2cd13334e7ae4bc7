/**
 * Entries and bills as text, many rows in one: whoever expects a million rows to be exactly so compares texts, at a
 * fraction of what making a million objects costs. Fields are parted by the unit separator, rows by the line feed; a
 * text that is equal has as many of both, so none of them can be hidden inside a field.
 */
import type { Connection } from './connection.ts'

const unit = 31
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

export interface EntryOfCommit {
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

/** No text is another thing than an empty one. */
const orNothing = (text: string | null): string => (text === null ? '-' : `+${text}`)

/** Where the text goes on after this field; -1 when it is another. */
function afterField(text: string, at: number, field: string): number {
  if (at === -1 || !text.startsWith(field, at)) return -1
  const end = at + field.length
  return text.charCodeAt(end) === unit ? end + 1 : -1
}

function afterFields(text: string, at: number, fields: readonly string[]): number {
  let next = at
  for (const field of fields) next = afterField(text, next, field)
  return next !== -1 && text.charCodeAt(next) === lineFeed ? next + 1 : -1
}

/** Where the text goes on after this entry; -1 when it is another. */
export function afterEntry(text: string, at: number, { seq, entry }: EntryOfCommit): number {
  const { debit, credit, amount, kind, account, ref, reason, source } = entry
  const about = [kind, account, ref, orNothing(reason), orNothing(source)]
  return afterFields(text, at, [String(seq), String(entry.at), debit, credit, String(amount), ...about])
}

/** Where the text goes on after this bill; -1 when it is another. */
export function afterBill(text: string, at: number, bill: BillFields): number {
  const { id, cost, input, cachedInput, output, reasoning } = bill
  const tokens = [String(input), String(cachedInput), String(output), String(reasoning)]
  return afterFields(text, at, [id, String(cost), ...tokens])
}

const line = (columns: readonly string[]): string =>
  `concat_ws(char(${unit}), ${columns.join(', ')}) || char(${unit}, ${lineFeed})`
const entryColumns = ['seq', 'at', 'debit', 'credit', 'amount_nanos', 'kind', `coalesce(account_id, '-')`]
const aboutColumns = [`coalesce(ref, '-')`, `coalesce('+' || reason, '-')`, `coalesce('+' || source, '-')`]
const billColumns = ['request_id', 'cost_nanos', 'prompt_tokens', 'cached_tokens', 'completion_tokens']

const entriesSql = `select group_concat(line, '') as text, max(id) as last from (
  select id, ${line([...entryColumns, ...aboutColumns])} as line
  from entries where id > ? order by id limit ?)`

const billsSql = `select group_concat(line, '') as text, max(row_id) as last from (
  select row_id, ${line([...billColumns, 'reasoning_tokens'])} as line
  from requests where row_id > ? and cost_nanos <> 0 order by row_id limit ?)`

/** One of the two tables, read on from where the last reading ended. */
export class RowsAsText {
  readonly #connection: Connection
  readonly #sql: string
  #after = 0

  constructor(connection: Connection, of: 'entries' | 'bills') {
    this.#connection = connection
    this.#sql = of === 'entries' ? entriesSql : billsSql
  }

  /** The next rows, so many at most; empty at the end. */
  next(count: number): string {
    if (count === 0) return ''
    const [row] = this.#connection.run({ sql: this.#sql, parameters: [this.#after, count] }).rows
    if (typeof row?.['last'] === 'number') this.#after = row['last']
    return typeof row?.['text'] === 'string' ? row['text'] : ''
  }
}
