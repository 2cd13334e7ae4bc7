/** Exports of lists: every row that the filters of a list select as CSV, read page by page from the list itself. */
import type { Context } from 'hono'
import { dateOf } from '../ledger/periods.ts'
import { csvResponse, type CsvCell } from './csv.ts'
import type { Export } from './exports.ts'

/** A field of a row, or a field of an object in it: `caps.daily`. */
type FieldPath<Row> = {
  [Field in keyof Row & string]: NonNullable<Row[Field]> extends readonly unknown[]
    ? Field
    : NonNullable<Row[Field]> extends object
      ? Field | `${Field}.${keyof NonNullable<Row[Field]> & string}`
      : Field
}[keyof Row & string]

/** What the cells of an export depend on beside its rows. */
interface CellContext {
  /** That of the account. */
  readonly timezone: string
  /** The platform's. */
  readonly currency: string
}

interface Column<Row> {
  readonly name: string
  readonly valueOf: (row: Row, context: CellContext) => unknown
}

/** The path of a field, whose name is that of the column with `_` for `.`, or a column with its own value. */
export type CsvColumn<Row> = FieldPath<Row> | Column<Row>

export type CsvColumns = readonly Column<object>[]

/** A list and its columns. The export's path is that of the list with `.csv`. */
export interface CsvExport {
  readonly path: string
  readonly columns: CsvColumns
}

/** How many rows of a list an export reads at once: few enough that no page of it delays other requests. */
export const exportPageRows = 200

/** For lists whose rows do not name the currency of their amounts. */
export const currencyColumn: Column<object> = {
  name: 'currency',
  valueOf: (_row, context) => context.currency,
}
/** The day of a row in the time zone of the account. */
export const dayColumn: Column<{ readonly time: string }> = {
  name: 'day',
  valueOf: ({ time }, { timezone }) => dateOf(timezone, Date.parse(time)),
}

export const limitColumns = ['limits.rpm', 'limits.tpm', 'limits.rpd', 'limits.concurrency'] as const
/** What a key may use and has used. */
export const keyScopeColumns = [
  'models',
  'ips',
  'spent.today',
  'spent.month',
  'spent.total',
  'caps.daily',
  'caps.monthly',
  'caps.total',
  currencyColumn,
  ...limitColumns,
] as const

function readPath(row: object, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, field) => (value as Readonly<Record<string, unknown>> | null)?.[field], row)
}

/** Columns that are the fields of a schema. */
export function fieldColumns<Shape extends object>({ shape }: { readonly shape: Shape }): (keyof Shape)[] {
  return Object.keys(shape) as (keyof Shape)[]
}

export function namedColumns<Row extends object>(columns: readonly CsvColumn<Row>[]): CsvColumns {
  return columns.map((column): Column<object> => {
    if (typeof column !== 'string') return column as Column<object>
    return { name: column.replaceAll('.', '_'), valueOf: (row) => readPath(row, column) }
  })
}

/** Words of a list are separated by spaces; other structures are JSON. */
function toCell(value: unknown): CsvCell {
  if (value === undefined || value === null) return null
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  const isWords = Array.isArray(value) && value.every((item) => typeof item === 'string')
  return isWords ? value.join(' ') : JSON.stringify(value)
}

/** A page of a list, or all of a list that has no pages. */
export interface ListPage {
  readonly data: readonly object[]
  readonly next?: string | null
}

/** Who reads an export, and its rows. */
export interface ExportOptions extends CellContext {
  readonly readPage: (cursor: string | undefined) => Promise<ListPage>
  /** Ended when the last page was sent, or nobody reads further. */
  readonly slot: Export
  /** Whether people open the file, in programs that read UTF-8 only after a byte order mark. */
  readonly forPeople: boolean
}

async function* readRows(
  { columns }: CsvExport,
  { readPage, slot, timezone, currency }: ExportOptions,
): AsyncGenerator<CsvCell[][], void> {
  await using running = slot
  let cursor: string | undefined
  do {
    const { data, next } = await readPage(cursor)
    yield data.map((row) => columns.map(({ valueOf }) => toCell(valueOf(row, { timezone, currency }))))
    cursor = next ?? undefined
    await running.continue()
  } while (cursor !== undefined)
}

/** `requests-2026-11-21`: the words of the list's path, and the day of the query or of its start, or else today. */
function fileName(c: Context, { path }: CsvExport): string {
  // Safe in a header: lists validate their times, and reject parameters that they do not have.
  const { day, from } = c.req.query()
  const date = day ?? from ?? new Date().toISOString()
  const words = path.split('/').filter((part) => /^[a-z]/.test(part))
  return `${words.join('-')}-${date.slice(0, 10)}`
}

/** Responds with every row of a list. Errors of the first page are thrown before anything is sent. */
export function exportList(c: Context, list: CsvExport, options: ExportOptions): Promise<Response> {
  return csvResponse(c, fileName(c, list), {
    head: list.columns.map(({ name }) => name),
    pages: readRows(list, options),
    hasByteOrderMark: options.forPeople,
  })
}
