/**
 * Connections within the process, for tests with many thousands of them: what the client sends is read at once, in the
 * same pieces, and the event loop's turns say when the server has nothing more to do.
 */
import type { Server } from 'node:http'
import { Socket } from 'node:net'

type WriteCallback = (error?: Error | null) => void

interface QueuedWrite {
  readonly chunk: Buffer | string
  readonly encoding: BufferEncoding
}

/** The server's side of a connection. Node.js lets a server take any stream as a connection. */
class MemorySocket extends Socket {
  readonly sent: Buffer[] = []

  constructor() {
    super({ allowHalfOpen: true })
  }

  override _read(): void {
    // The client pushes.
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: WriteCallback): void {
    this.sent.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)
    done()
  }

  override _writev(writes: readonly QueuedWrite[], done: WriteCallback): void {
    for (const { chunk, encoding } of writes) this._write(chunk, encoding, () => {})
    done()
  }
}

/** How many turns of the event loop a server gets to react to what it has received. */
const turnsPerPiece = 2
const turnsAtEnd = 6

/** Opens a connection, sends the pieces one after another, and returns what the server has sent. */
export async function exchangeInMemory(server: Server, pieces: readonly Buffer[]): Promise<string> {
  const socket = new MemorySocket()
  socket.on('error', () => {})
  server.emit('connection', socket)
  for (const piece of pieces) {
    if (socket.destroyed) break
    // A copy, as from a network: the server may keep it.
    socket.push(Buffer.from(piece))
    await waitForTurns(turnsPerPiece)
  }
  await waitForTurns(turnsAtEnd)
  socket.destroy()
  await waitForTurns(1)
  return Buffer.concat(socket.sent).toString('latin1')
}

async function waitForTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate)
}
