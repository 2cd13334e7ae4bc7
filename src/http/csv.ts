/**
 * Lists as CSV (RFC 4180), streamed page by page as the client reads, so that a year of requests needs no more memory
 * than one page. Cells that a spreadsheet would execute as formulas are escaped.
 */

import type { Context } from 'hono'

export type CsvCell = string | number | boolean | null

function encodeCell(cell: CsvCell): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell)
  const text = /^[=+\-@\t\r]/.test(cell) && !/^-?\d+(\.\d+)?$/.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function encodeRow(cells: readonly CsvCell[]): string {
  return `${cells.map(encodeCell).join(',')}\r\n`
}

/** Fetches each page when the client is ready for it, and none after the client has disconnected. */
function streamRows(
  head: readonly string[],
  first: IteratorResult<readonly CsvCell[][], void>,
  pages: AsyncIterator<readonly CsvCell[][], void>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let isStarted = false
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!isStarted) controller.enqueue(encoder.encode(encodeRow(head)))
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
export async function csvResponse(
  context: Context,
  name: string,
  content: { readonly head: readonly string[]; readonly pages: AsyncIterator<readonly CsvCell[][], void> },
) {
  const { head, pages } = content
  return context.body(streamRows(head, await pages.next(), pages), 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}.csv"`,
  })
}
