/**
 * Lists as CSV (RFC 4180), streamed page by page as the client reads, so that a year of requests needs no more memory
 * than one page. Text that a spreadsheet would execute as a formula is escaped as OWASP recommends ("CSV Injection").
 */

import type { Context } from 'hono'

export type CsvCell = string | number | boolean | null

/**
 * Where a formula could begin: at the start of a cell, and after anything that a program may take for a separator,
 * because one that splits at semicolons or tabs does not see our quotes. Programs read full-width signs as ASCII.
 */
const formulaStart = /(?:^|(?<=[,;|\t\r\n]))(?=[ "]*[=+\-@＝＋－＠])|^(?=[\t\r\n])/g
const number = /^-?\d+(\.\d+)?$/

function encodeCell(cell: CsvCell): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell)
  if (number.test(cell)) return cell
  const text = cell.replaceAll(formulaStart, "'")
  return /[",;|'\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function encodeRow(cells: readonly CsvCell[]): string {
  return `${cells.map(encodeCell).join(',')}\r\n`
}

interface CsvContent {
  readonly head: readonly string[]
  readonly pages: AsyncIterator<readonly CsvCell[][], void>
  /** Without the mark, Excel reads Chinese as garbage; with it, scripts read it as a part of the first name. */
  readonly hasByteOrderMark: boolean
}

/** Fetches each page when the client is ready for it, and none after the client has disconnected. */
function streamRows(
  { head, pages, hasByteOrderMark }: CsvContent,
  first: IteratorResult<readonly CsvCell[][], void>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let isStarted = false
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!isStarted)
          controller.enqueue(encoder.encode(`${hasByteOrderMark ? '\u{FEFF}' : ''}${encodeRow(head)}`))
        const { value, done } = isStarted ? await pages.next() : first
        isStarted = true
        if (done === true) controller.close()
        else controller.enqueue(encoder.encode(value.map(encodeRow).join('')))
      },
      async cancel() {
        await pages.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/** A CSV file of this name (without its extension). The first page is fetched first, so that its errors can be returned. */
export async function csvResponse(context: Context, name: string, content: CsvContent): Promise<Response> {
  return context.body(streamRows(content, await content.pages.next()), 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}.csv"`,
  })
}
