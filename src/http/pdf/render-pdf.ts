/**
 * Renders PDFs in a thread of their own, which ends afterwards: neither the library nor the font stays in memory, and no
 * request waits for a page. One at a time; callers wait in line.
 */
import { apiError } from '../../errors.ts'
import { openThread } from '../../rpc/thread.ts'
import { attachment } from '../attachment.ts'
import type { PdfContent } from './pdf-content.ts'
import type { PdfThreadServices } from './pdf-thread.ts'

const maxWaiting = 10
const retryAfterMs = 5000

let waiting = 0
let last: Promise<unknown> = Promise.resolve()

async function renderInThread(content: PdfContent): Promise<Uint8Array<ArrayBuffer>> {
  const { worker, channel } = openThread<PdfThreadServices>(new URL('./pdf-thread.ts', import.meta.url))
  try {
    return await channel.proxy('pdf').render(content)
  } finally {
    await worker.terminate()
  }
}

/** Throws 429 if too many are waiting. */
export async function renderPdf(content: PdfContent): Promise<Uint8Array<ArrayBuffer>> {
  if (waiting >= maxWaiting) {
    const message = 'Too many PDFs are being rendered. Try again in a few seconds.'
    throw apiError('rate_limit_exceeded', { message, retryAfterMs })
  }
  waiting += 1
  const rendered = last.then(() => renderInThread(content))
  last = rendered.catch(() => undefined)
  try {
    return await rendered
  } finally {
    waiting -= 1
  }
}

/** `name`: of the file, without its extension. */
export async function pdfResponse(content: PdfContent, name: string): Promise<Response> {
  return attachment(await renderPdf(content), `${name}.pdf`, 'application/pdf')
}
