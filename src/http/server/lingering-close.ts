/**
 * Lingering close (RFC 9112, 9.6): after an early response, the connection is half-closed, and a little more of the
 * request is read and discarded. Then it stays open without being read until the caller closes it, because closing it
 * with unread bytes would reset it, and the caller would lose the response.
 */
import type { IncomingMessage } from 'node:http'

/** How much of a rejected body is still read. */
export const lingerBytes = 1024 * 1024
/** How long the caller has to close the connection. */
export const lingerMs = 5000
/** Lingering connections do not delay a shutdown for longer. */
export const lingerMsWhenClosing = 1000

/**
 * Call it directly after the response with `connection: close` has been written. `isClosing`: the process shuts down;
 * asked once a second.
 */
export function lingerAndClose(incoming: IncomingMessage, isClosing: () => boolean): void {
  if (incoming.complete) return
  const { socket } = incoming
  const bytesBefore = socket.bytesRead
  let timer: NodeJS.Timeout | null = null
  // Called by node:http when the response has been sent.
  socket.destroySoon = () => {
    const sinceMs = performance.now()
    timer ??= setInterval(() => {
      if (isClosing() || performance.now() - sinceMs >= lingerMs) socket.destroy()
    }, lingerMsWhenClosing)
    socket.end()
  }
  const stop = (): void => {
    if (timer) clearInterval(timer)
  }
  incoming.on('data', () => {
    if (socket.bytesRead - bytesBefore > lingerBytes) incoming.pause()
  })
  incoming.on('end', () => {
    Reflect.deleteProperty(socket, 'destroySoon')
    if (timer) socket.destroySoon()
  })
  incoming.resume()
  socket.once('close', stop)
}
