/** A caller who writes the protocol by hand, and reads only when told to; and what the system tells of a relay's process. */

import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

import type { Account } from '../server/account.ts'
import type { House } from '../server/test-server.ts'

export const MiB = 1024 * 1024

export interface HandWritten {
  socket: Socket
  /** What came back, once the connection has ended. */
  answered: Promise<string>
}

/** Sends the head of a chat request with this framing; the body is the caller's. */
export function sendByHand(house: House, account: Account, framing: string): HandWritten {
  const socket = connect(house.relay.port, '127.0.0.1')
  const parts: Buffer[] = []
  const { promise, resolve } = Promise.withResolvers<string>()
  socket.on('data', (part: Buffer) => parts.push(part))
  socket.on('close', () => resolve(Buffer.concat(parts).toString()))
  // The relay may cut us off while we still send.
  socket.on('error', () => undefined)
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key.secret}\r\n`
  socket.write(`${head}content-type: application/json\r\n${framing}\r\n\r\n`)
  return { socket, answered: promise }
}

/** Sends a whole request and reads nothing of its answer. */
export function askWithoutReading(house: House, account: Account, question: object): Socket {
  const body = JSON.stringify(question)
  const { socket } = sendByHand(house, account, `content-length: ${Buffer.byteLength(body)}`)
  socket.pause().write(body)
  return socket
}

/** Why a story that looks into the relay's process is left out; false on Linux. */
export const withoutProc =
  process.platform === 'linux' ? false : 'only Linux tells what a process reads and holds'

/** The bytes that the relay has read so far, from sockets and files. */
export function bytesRead(house: House): number {
  return figureOf(house, 'io', 'rchar')
}

/** The relay's resident memory in MiB. */
export function residentMiB(house: House): number {
  return figureOf(house, 'status', 'VmRSS') / 1024
}

function figureOf(house: House, file: string, name: string): number {
  const text = readFileSync(`/proc/${house.relay.pid}/${file}`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1])
}
