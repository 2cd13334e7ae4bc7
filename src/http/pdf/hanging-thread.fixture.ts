/** A thread in place of the one that renders: it never ends with a document whose title is `hangs`. */
import { parentPort } from 'node:worker_threads'
import { Channel } from '../../rpc/channel.ts'
import type { PdfThreadServices } from './pdf-thread.ts'

const pdf: PdfThreadServices['pdf'] = {
  render({ title }) {
    if (title === 'hangs') for (;;);
    return Promise.resolve(new TextEncoder().encode(title))
  },
}
if (parentPort !== null) new Channel<object>(parentPort).serve({ services: { pdf } })
