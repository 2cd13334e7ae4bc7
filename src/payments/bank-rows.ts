/** Rows of a bank's list, pasted by an operator, and the orders that they seem to pay. Nothing is credited by it. */
import { createHash } from 'node:crypto'
import { invalidField } from '../errors.ts'
import { parseMinor } from '../lib/currency.ts'
import { isReference, normalizeReference, referenceLength, referenceOf } from './bank-reference.ts'

/** Money that arrived. */
export interface BankRow {
  /** In the pasted text, counted from 1. */
  readonly line: number
  readonly amountMinor: bigint
  /** As the bank writes it. */
  readonly date: string | null
  /** The bank's serial number. */
  readonly transaction: string | null
  readonly payer: string | null
  /** All cells. */
  readonly cells: readonly string[]
}

export interface BankRows {
  readonly rows: readonly BankRow[]
  /** Lines below the header whose amount cannot be read. */
  readonly unreadLines: readonly number[]
}

/** An order by bank transfer that is not paid. */
export interface AwaitedTransfer {
  readonly id: string
  readonly amountMinor: bigint
  /** SHA-256 of the names from which the account paid before, in hex. */
  readonly payers: readonly string[]
}

export interface BankMatch {
  readonly row: BankRow
  /** null: none, or more than one. */
  readonly order: string | null
  readonly by: 'reference' | 'payer' | null
  readonly isAmountEqual: boolean
  /** The row has a reference of an order that is not awaited: paid already, or of another installation. */
  readonly hasOtherReference: boolean
}

const columns = {
  amount:
    /^(?:收入金额|收入|贷方发生额|贷方金额|贷方|交易金额|发生额|金额|credit(?: amount)?|amount|paid in)/i,
  date: /^(?:交易日期|交易时间|记账日期|入账时间|日期|(?:booking |value |transaction )?date)/i,
  transaction: /^(?:交易流水号|流水号|核心流水号|业务编号|凭证号|serial|transaction id|transaction number)/i,
  payer:
    /^(?:对方户名|对方账户名称|对方名称|付款人名称|付款人户名|付款人|payer|counterparty|remitter|sender|name)/i,
} as const
type Column = keyof typeof columns

/** Without the money that left. */
const maxRows = 2000

/** RFC 4180, with the separator that the first line with one has; each record with its line. */
function parseCsv(text: string): { line: number; cells: string[] }[] {
  const separator = /[,;\t]/.exec(text.split('\n').find((line) => /[,;\t]/.test(line)) ?? '')?.[0] ?? ','
  const records: { line: number; cells: string[] }[] = []
  let [cell, cells, isQuoted, line, start, quotedAt] = ['', [] as string[], false, 1, 1, 1]
  for (let at = 0; at <= text.length; at += 1) {
    const char = text.charAt(at)
    if (char === '\n') line += 1
    if (isQuoted && char !== '') {
      if (char !== '"') cell += char
      else if (text.charAt(at + 1) === '"') cell += text.charAt((at += 1))
      else isQuoted = false
    } else if (char === '"' && cell === '') [isQuoted, quotedAt] = [true, line]
    else if (char !== separator && char !== '\n' && char !== '') cell += char
    else {
      cells.push(cleanCell(cell))
      cell = ''
      if (char === separator) continue
      if (cells.some((text) => text !== '')) records.push({ line: start, cells })
      cells = []
      start = line
    }
  }
  // Everything below it would be part of one cell.
  if (isQuoted) throw invalidField('csv', `has a quote in line ${quotedAt} that is not closed`)
  return records
}

/** Banks keep spreadsheets from reading numbers by a tab, a backtick, an apostrophe, or `="…"`. */
function cleanCell(cell: string): string {
  return cell
    .replace(/^="?(.*?)"?$/s, '$1')
    .replace(/^[\s`'\uFEFF]+/, '')
    .trimEnd()
}

/** Fen or cents; null: no money that arrived; undefined: not an amount. */
function amountOf(cell: string, currency: string): bigint | null | undefined {
  const text = cell.replace(/^\+|^[¥￥]\s*/, '')
  if (text === '' || text.startsWith('-')) return null
  const plain = /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(text) ? text.replaceAll(',', '') : text
  try {
    const amount = parseMinor(plain, currency)
    return amount === 0n ? null : amount
  } catch {
    return undefined
  }
}

/**
 * Reads a list as banks export it: lines above the header are skipped, and so is money that left. Throws 400 if no line
 * names a column of amounts, if a quote is not closed, or if there are too many rows.
 */
export function parseBankRows(text: string, currency: string): BankRows {
  const records = parseCsv(text.replaceAll('\r\n', '\n'))
  const headerAt = records.findIndex(
    ({ cells }) => cells.length > 1 && cells.some((cell) => columns.amount.test(cell)),
  )
  const header = records[headerAt]?.cells
  if (header === undefined)
    throw invalidField('csv', 'must have a line that names a column of amounts, such as “金额” or “Amount”')
  const at = (column: Column): number => header.findIndex((name) => columns[column].test(name))
  const [amountAt, dateAt, transactionAt, payerAt] = [
    at('amount'),
    at('date'),
    at('transaction'),
    at('payer'),
  ]
  const rows: BankRow[] = []
  const unreadLines: number[] = []
  for (const { line, cells } of records.slice(headerAt + 1)) {
    const amountMinor = amountOf(cells[amountAt] ?? '', currency)
    if (amountMinor === undefined) unreadLines.push(line)
    if (amountMinor === undefined || amountMinor === null) continue
    const cell = (column: number): string | null => cells[column] || null
    const [date, transaction, payer] = [cell(dateAt), cell(transactionAt), cell(payerAt)]
    rows.push({ line, amountMinor, date, transaction, payer, cells })
  }
  if (rows.length + unreadLines.length > maxRows)
    throw invalidField('csv', `must have at most ${maxRows} rows; paste a shorter period`)
  return { rows, unreadLines }
}

/** The orders whose references are in a row, wherever they are. */
function ordersNamedIn(
  { cells }: BankRow,
  byReference: ReadonlyMap<string, readonly AwaitedTransfer[]>,
): AwaitedTransfer[] {
  const found = new Set<AwaitedTransfer>()
  for (const cell of cells.map(normalizeReference))
    for (let at = 0; at + referenceLength <= cell.length; at += 1)
      for (const order of byReference.get(cell.slice(at, at + referenceLength)) ?? []) found.add(order)
  return [...found]
}

/** Dates and words can have a right check character by chance: they have no letter, or no digit. */
function hasReference({ cells }: BankRow): boolean {
  const words = cells.flatMap((cell) => cell.split(/[^0-9A-Za-z]+/))
  return words.some((word) => /\d/.test(word) && /[A-Za-z]/.test(word) && isReference(word))
}

/**
 * Matches by the reference, and what has none by amount and payer, if one order and one row fit each other alone. The order
 * of the result is that of the rows.
 */
export function matchBankRows(rows: readonly BankRow[], orders: readonly AwaitedTransfer[]): BankMatch[] {
  const byReference = Map.groupBy(orders, ({ id }) => referenceOf(id))
  const namedBy = rows.map((row) => ordersNamedIn(row, byReference))
  const named = new Set(namedBy.flat())
  const byAmount = Map.groupBy(
    orders.filter((order) => !named.has(order)),
    ({ amountMinor }) => amountMinor,
  )
  const fitting = rows.map((row, index) =>
    namedBy[index]?.length === 0 && !hasReference(row)
      ? ordersOfPayer(row, byAmount.get(row.amountMinor) ?? [])
      : [],
  )
  const rowsThatFit = Map.groupBy(fitting.flat(), ({ id }) => id)
  return rows.map((row, index) => {
    const [found = [], fits = []] = [namedBy[index], fitting[index]]
    const [fit] = fits
    const isAlone = fit !== undefined && fits.length === 1 && rowsThatFit.get(fit.id)?.length === 1
    const order = (found.length === 1 ? found[0] : undefined) ?? (isAlone ? fit : undefined)
    const by = found.length === 1 ? 'reference' : 'payer'
    return {
      row,
      order: order?.id ?? null,
      by: order === undefined ? null : by,
      isAmountEqual: order?.amountMinor === row.amountMinor,
      hasOtherReference: found.length === 0 && hasReference(row),
    }
  })
}

function ordersOfPayer({ payer }: BankRow, orders: readonly AwaitedTransfer[]): AwaitedTransfer[] {
  if (payer === null || orders.length === 0) return []
  const hash = createHash('sha256').update(payer).digest('hex')
  return orders.filter(({ payers }) => payers.includes(hash))
}
