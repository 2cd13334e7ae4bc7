/** Responses with valid or conflicting framing, damaged at any byte after the status and cut anywhere, by seed. */
import { once } from 'node:events'
import type { Socket } from 'node:net'

import { Prng } from '../../../sim/prng.ts'
import { attackBody, attackResponse, responseHead, type HostileMode } from './hostile-upstream.ts'

const statusLine = 'HTTP/1.1 200'
const chunkedLine = 'Transfer-Encoding: chunked\r\n'

/** A mode that sends such a response and closes the connection. What callers receive is open. */
export function damagedMode(seed: number): HostileMode {
  return {
    name: `damaged response ${seed}`,
    expected: ['unavailable', 'unavailable'],
    respond(socket, isStream) {
      const prng = new Prng(seed)
      const bytes = damage(prng, response(prng, isStream))
      void sendInPieces(socket, prng, Buffer.from(bytes, 'latin1'))
    },
    async afterwards(socket) {
      if (!socket.closed) await once(socket, 'close')
    },
  }
}

function response(prng: Prng, isStream: boolean): string {
  const body = attackBody(isStream)
  const lengthLine = `Content-Length: ${body.length}\r\n`
  switch (prng.below(6)) {
    case 0:
      return responseHead(isStream) + body
    case 1:
      return attackResponse(isStream) + attackResponse(isStream)
    case 2:
      return `HTTP/1.1 103 X\r\nLink: </x>\r\n\r\n${attackResponse(isStream)}`
    case 3:
      return responseHead(isStream, lengthLine + chunkedLine) + chunked(prng, body)
    case 4:
      return attackResponse(isStream)
    default:
      return responseHead(isStream, chunkedLine) + chunked(prng, body)
  }
}

function chunked(prng: Prng, body: string): string {
  let text = ''
  for (let at = 0; at < body.length;) {
    const part = body.slice(at, at + prng.between(1, 200))
    text += `${part.length.toString(16)}${prng.pick(['', '', ';a=b', ' '])}\r\n${part}\r\n`
    at += part.length
  }
  return `${text}0\r\n${prng.pick(['', 'A: b\r\n'])}\r\n`
}

/** Changes, removes or inserts up to three bytes, most often ones that have a meaning. */
function damage(prng: Prng, text: string): string {
  let damaged = text
  for (let count = prng.below(4); count > 0; count -= 1) {
    const at = prng.between(statusLine.length, damaged.length)
    const byte = prng.bool(0.7)
      ? prng.pick(Array.from('\r\n\0 :;,019af{}[]"'))
      : String.fromCharCode(prng.below(256))
    damaged = damaged.slice(0, at) + (prng.bool(0.3) ? '' : byte) + damaged.slice(at + prng.below(3))
  }
  return prng.bool(0.2) ? damaged.slice(0, prng.between(0, damaged.length)) : damaged
}

/**
 * A reset follows a single write: bytes that arrive after the response, when the connection may already carry another
 * request, are no test of the client.
 */
async function sendInPieces(socket: Socket, prng: Prng, bytes: Buffer): Promise<void> {
  const isReset = prng.bool(0.2)
  const cutCount = isReset ? 0 : prng.pick([0, 1, 3])
  const cuts = Array.from({ length: cutCount }, () => prng.below(bytes.length + 1))
  const bounds = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
  for (const [index, end] of bounds.slice(1).entries()) {
    if (socket.destroyed) return
    socket.write(bytes.subarray(bounds[index], end))
    await new Promise(setImmediate)
  }
  if (isReset) socket.resetAndDestroy()
  else socket.end()
}
