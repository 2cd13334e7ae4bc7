/**
 * Renders PDFs in a thread of their own, which ends afterwards: neither the library nor the font stays in memory, and no
 * request waits for a page. One at a time; accounts take turns.
 */
import { apiError, type ApiError } from '../../errors.ts'
import { FairQueue } from '../../lib/fair-queue.ts'
import { openThread } from '../../rpc/thread.ts'
import { attachment } from '../attachment.ts'
import type { PdfContent } from './pdf-content.ts'
import type { PdfThreadServices } from './pdf-thread.ts'

export const maxRenderMs = 30_000
const retryAfterMs = 5000

function rejection(): ApiError {
  const message = 'Too many PDFs are being rendered. Try again in a few seconds.'
  return apiError('rate_limit_exceeded', { message, retryAfterMs })
}

function timeout(): ApiError {
  const message = 'Rendering the PDF took too long. Try again.'
  return apiError('service_unavailable', { message, retryAfterMs })
}

export class PdfRenderer {
  readonly #module: URL
  readonly #queue = new FairQueue({ maxWaitingOfOwner: 3, maxWaiting: 50, rejection })

  /** `module`: of the thread. */
  constructor(module = new URL('./pdf-thread.ts', import.meta.url)) {
    this.#module = module
  }

  /** `account`: whose document it is. Throws 429 if too many are waiting, 503 if it takes too long. */
  render(account: string, content: PdfContent): Promise<Uint8Array<ArrayBuffer>> {
    return this.#queue.run(account, () => this.#renderInThread(content))
  }

  async #renderInThread(content: PdfContent): Promise<Uint8Array<ArrayBuffer>> {
    const { worker, channel } = openThread<PdfThreadServices>(this.#module)
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      void worker.terminate()
    }, maxRenderMs)
    try {
      return await channel.proxy('pdf').render(content)
    } catch (error) {
      throw isLate ? timeout() : error
    } finally {
      clearTimeout(timer)
      await worker.terminate()
    }
  }
}

const renderer = new PdfRenderer()

/** `name`: of the file, without its extension. */
export async function pdfResponse(account: string, content: PdfContent, name: string): Promise<Response> {
  return attachment(await renderer.render(account, content), `${name}.pdf`, 'application/pdf')
}
