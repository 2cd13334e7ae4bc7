/**
 * The output of commands. Standard output has the result only: text and tables, or JSON with --json. Progress goes to
 * standard error. A command fails by throwing a `CommandError` with a single line.
 */

/** The command or its check failed: exit code 1. */
export class CommandError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CommandError'
  }
}

/** It is unknown whether the operation was carried out. */
export class UnknownOutcomeError extends CommandError {}

/** Wrong usage that the option parsers cannot detect: exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** The name of a PostgreSQL server for messages, without the credentials of its URL. */
export function serverName(databaseUrl: string): string {
  const { host } = new URL(databaseUrl)
  return host === '' ? 'PostgreSQL' : `PostgreSQL at ${host}`
}

/** The fields of a response of the admin API. */
export type Fields = Readonly<Record<string, unknown>>

export function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
}

/** The rows of a list `{data: […]}`. */
export function rowsIn(response: unknown): Fields[] {
  const { data } = asFields(response)
  return Array.isArray(data) ? data.map(asFields) : []
}

/** A value by its path, such as `caps.daily`. */
export function fieldAt(fields: Fields, path: string): unknown {
  let value: unknown = fields
  for (const name of path.split('.')) value = asFields(value)[name]
  return value
}

/** Formats a value for a table: lists with commas, missing values as a dash, control characters as `?`. */
export function formatCell(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-'
  if (value === true) return 'yes'
  if (value === false) return 'no'
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(formatCell).join(', ')
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.replaceAll(/\p{Cc}/gu, '?')
}

/** Characters that are two terminal columns wide (Unicode: East Asian Width). */
const doubleWidth =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/gu

export function displayWidth(text: string): number {
  const characters = Array.from(text.replaceAll(/\p{M}/gu, '')).length
  return characters + (text.match(doubleWidth)?.length ?? 0)
}

const numeric = /^-?\d+(\.\d+)?%?$/

/** A table with a header; columns of numbers are right-aligned. */
export function formatTable(titles: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = rows.map((row) => titles.map((_title, index) => formatCell(row[index])))
  const columns = titles.map((title, index) => {
    const column = cells.map((row) => row[index] ?? '')
    const isNumeric =
      column.some((cell) => cell !== '-') && column.every((cell) => cell === '-' || numeric.test(cell))
    return { width: Math.max(...[title, ...column].map(displayWidth)), isNumeric }
  })
  const line = (row: readonly string[]): string => {
    const padded = columns.map(({ width, isNumeric }, index) => {
      const cell = row[index] ?? ''
      const space = ' '.repeat(width - displayWidth(cell))
      return isNumeric ? space + cell : cell + space
    })
    return padded.join('  ').trimEnd()
  }
  return [titles, ...cells].map(line).join('\n')
}

/** The columns of a table: titles, each with the path of its field or a function of the row. */
export type Columns = Readonly<Record<string, string | ((row: Fields) => unknown)>>

export function formatRows(rows: readonly Fields[], columns: Columns): string {
  const valueOf = (row: Fields, column: Columns[string]): unknown =>
    typeof column === 'string' ? fieldAt(row, column) : column(row)
  const cells = rows.map((row) => Object.values(columns).map((column) => valueOf(row, column)))
  return formatTable(Object.keys(columns), cells)
}

/** Prints a complete list: as JSON like its last page. */
export function printRows(data: readonly Fields[], columns: Columns, options: OutputOptions): void {
  printResult({ data, next: null }, options, () => formatRows(data, columns))
}

/** One line per field: its name and its value. */
export function formatFields(pairs: readonly (readonly [string, unknown])[]): string {
  const width = Math.max(...pairs.map(([name]) => displayWidth(name)))
  return pairs
    .map(([name, value]) => `${name}${' '.repeat(width - displayWidth(name))}  ${formatCell(value)}`)
    .join('\n')
}

export interface OutputOptions {
  readonly json?: boolean
}

/** Prints the result as JSON with --json, otherwise as text. */
export function printResult(result: unknown, options: OutputOptions, formatText: () => string): void {
  const text = options.json === true ? JSON.stringify(result, null, 2) : formatText()
  if (text !== '') process.stdout.write(`${text}\n`)
}

export interface ProgressOptions extends OutputOptions {
  readonly progress?: boolean
}

const progressIntervalMs = 500

/**
 * Prints the progress of a long operation on standard error: on one line of a terminal, or as separate lines with
 * --progress. `work` reports each step; the elapsed seconds are appended.
 */
export async function withProgress<Result>(
  options: ProgressOptions,
  firstStep: string,
  work: (report: (step: string) => void) => Promise<Result>,
): Promise<Result> {
  let step = firstStep
  const report = (next: string): void => void (step = next)
  const isTerminal = process.stderr.isTTY
  if (!isTerminal && options.progress !== true) return work(report)
  const started = performance.now()
  const writeLine = (): void => {
    const line = `${step} ${Math.round((performance.now() - started) / 1000)} s`
    process.stderr.write(isTerminal ? `\r\u001b[K${line}` : `${line}\n`)
  }
  writeLine()
  const timer = setInterval(writeLine, progressIntervalMs)
  try {
    return await work(report)
  } finally {
    clearInterval(timer)
    if (isTerminal) process.stderr.write('\r\u001b[K')
  }
}
