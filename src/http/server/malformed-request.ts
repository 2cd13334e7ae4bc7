/** Responses to requests that are not valid HTTP. */
import type { Duplex } from 'node:stream'
import { apiError } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'

const parseErrors: Readonly<Record<string, { status: number; reason: string; message: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    reason: 'Request Header Fields Too Large',
    message: 'The request headers are too large.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    reason: 'Request Timeout',
    message: 'Timed out while reading the request.',
  },
}
const malformed = { status: 400, reason: 'Bad Request', message: 'Malformed HTTP request.' }

/** For node:http's `clientError`: there is no response object, so the response is written to the socket. */
export function rejectMalformedRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, reason, message } = parseErrors[error.code ?? ''] ?? malformed
  const body = JSON.stringify(apiError('invalid_request', { status, message }).toBody())
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${newId('req')}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
