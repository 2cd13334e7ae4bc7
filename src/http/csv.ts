/**
 * Lists as CSV (RFC 4180), page by page while the reader takes them, so that a year of requests needs no more memory
 * than a page. What a spreadsheet would run as a formula is written as text.
 */

import type { Context } from 'hono'

export type Cell = string | number | boolean | null

function cellText(cell: Cell): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell)
  const text = /^[=+\-@\t\r]/.test(cell) && !/^-?\d+(\.\d+)?$/.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function lineOf(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`
}

/** The first page, and those after it as they are asked for; a reader who has gone asks for no more. */
function streamOf(
  head: readonly string[],
  first: IteratorResult<readonly Cell[][], void>,
  pages: AsyncIterator<readonly Cell[][], void>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let isBegun = false
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!isBegun) controller.enqueue(encoder.encode(lineOf(head)))
        const { value, done } = isBegun ? await pages.next() : first
        isBegun = true
        if (done === true) controller.close()
        else controller.enqueue(encoder.encode(value.map(lineOf).join('')))
      },
      async cancel() {
        await pages.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Answers a file of this name, but for its ending: a head line, then the pages. What the first one throws is no answer yet. */
export async function csvAnswer(
  context: Context,
  name: string,
  lines: { readonly head: readonly string[]; readonly pages: AsyncIterator<readonly Cell[][], void> },
) {
  const { head, pages } = lines
  return context.body(streamOf(head, await pages.next(), pages), 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}.csv"`,
  })
}
