/** What is not HTTP is answered in the format all the same, and the connection ends. */
import type { Duplex } from 'node:stream'
import { refuse } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'

const refusals: Readonly<Record<string, { status: number; reason: string; message: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    reason: 'Request Header Fields Too Large',
    message: 'The headers are too large.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    reason: 'Request Timeout',
    message: 'The request did not arrive.',
  },
}
const malformed = { status: 400, reason: 'Bad Request', message: 'The request is not valid HTTP.' }

/** For node:http's `clientError`: nothing was made of the request, so the answer is written by hand. */
export function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, reason, message } = refusals[error.code ?? ''] ?? malformed
  const body = JSON.stringify(refuse('invalid_request', { status, message }).toBody())
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${newId('req')}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
