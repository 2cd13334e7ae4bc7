/** The thread that renders one PDF. */
import { parentPort } from 'node:worker_threads'
import { Channel } from '../../rpc/channel.ts'
import { drawPdf } from './draw-pdf.ts'
import type { PdfContent } from './pdf-content.ts'

/** What the thread offers. */
export interface PdfThreadServices {
  readonly pdf: { render(content: PdfContent): Promise<Uint8Array<ArrayBuffer>> }
}

if (parentPort !== null) {
  const pdf: PdfThreadServices['pdf'] = { render: drawPdf }
  new Channel<object>(parentPort).serve({ services: { pdf } })
}
