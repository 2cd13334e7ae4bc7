/**
 * What commands say. Standard output carries the result and nothing else: words and tables for people, or with --json
 * the whole answer; progress goes to standard error. A command that fails throws `CommandError` with one clear line.
 */

/** A command could not do what it was asked, or what it looked at does not hold: exit code 1, these words. */
export class CommandError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CommandError'
  }
}

/** Who was asked could not say what came of it: it may have been done. */
export class UnclearError extends CommandError {}

/** Wrong usage that the grammar of options cannot see: exit code 2, these words. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** A PostgreSQL as people know it, without the login that its address holds. */
export function serverNameOf(databaseUrl: string): string {
  const { host } = new URL(databaseUrl)
  return host === '' ? 'PostgreSQL' : `PostgreSQL at ${host}`
}

/** An answer of the administration whose fields are read by name. */
export type Fields = Readonly<Record<string, unknown>>

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
}

/** The rows of a list `{data: […]}`. */
export function rowsOf(answer: unknown): Fields[] {
  const { data } = fieldsOf(answer)
  return Array.isArray(data) ? data.map(fieldsOf) : []
}

/** A value by its path: `caps.daily`. */
export function fieldAt(fields: Fields, path: string): unknown {
  let value: unknown = fields
  for (const name of path.split('.')) value = fieldsOf(value)[name]
  return value
}

/** A value as a cell: lists with commas, what is absent as a dash; nothing that could steer a terminal. */
export function cellOf(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-'
  if (value === true) return 'yes'
  if (value === false) return 'no'
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(cellOf).join(', ')
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.replaceAll(/\p{Cc}/gu, '?')
}

/** Characters that take two columns of a terminal (Unicode: East Asian Width). */
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/gu

export function widthOf(text: string): number {
  const characters = Array.from(text.replaceAll(/\p{M}/gu, '')).length
  return characters + (text.match(wide)?.length ?? 0)
}

const number = /^-?\d+(\.\d+)?%?$/

/** A table with a line of titles; columns of numbers stand on the right. */
export function tableOf(titles: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = rows.map((row) => titles.map((_title, index) => cellOf(row[index])))
  const columns = titles.map((title, index) => {
    const column = cells.map((row) => row[index] ?? '')
    const isNumeric =
      column.some((cell) => cell !== '-') && column.every((cell) => cell === '-' || number.test(cell))
    return { width: Math.max(...[title, ...column].map(widthOf)), isNumeric }
  })
  const line = (row: readonly string[]): string => {
    const padded = columns.map(({ width, isNumeric }, index) => {
      const cell = row[index] ?? ''
      const space = ' '.repeat(width - widthOf(cell))
      return isNumeric ? space + cell : cell + space
    })
    return padded.join('  ').trimEnd()
  }
  return [titles, ...cells].map(line).join('\n')
}

/** Names and values below each other. */
export function sheetOf(pairs: readonly (readonly [string, unknown])[]): string {
  const width = Math.max(...pairs.map(([name]) => widthOf(name)))
  return pairs
    .map(([name, value]) => `${name}${' '.repeat(width - widthOf(name))}  ${cellOf(value)}`)
    .join('\n')
}

export interface Format {
  readonly json?: boolean
}

/** The result: the whole answer with --json, else its words. */
export function printResult(answer: unknown, format: Format, words: () => string): void {
  const text = format.json === true ? JSON.stringify(answer, null, 2) : words()
  if (text !== '') process.stdout.write(`${text}\n`)
}

export interface Progress {
  readonly progress?: boolean
}

const progressEveryMs = 500

/**
 * Tells on standard error how far something long is, while it runs: on one line of a terminal, or with --progress as
 * lines. `told` is asked each time; the seconds are added to it.
 */
export async function withProgress<Result>(
  asked: Progress,
  told: () => string,
  work: () => Promise<Result>,
): Promise<Result> {
  const isTerminal = process.stderr.isTTY
  if (!isTerminal && asked.progress !== true) return work()
  const started = performance.now()
  const say = (): void => {
    const line = `${told()} ${Math.round((performance.now() - started) / 1000)} s`
    process.stderr.write(isTerminal ? `\r\u001b[K${line}` : `${line}\n`)
  }
  say()
  const timer = setInterval(say, progressEveryMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    if (isTerminal) process.stderr.write('\r\u001b[K')
  }
}
