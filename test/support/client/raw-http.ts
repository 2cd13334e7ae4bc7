/** A client that writes HTTP to a socket itself and may not read, and what /proc reports about a relay's process. */

import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

import type { Account } from '../server/account.ts'
import type { TestServer } from '../server/test-server.ts'

export const MiB = 1024 * 1024

export interface RawRequest {
  socket: Socket
  /** Everything received, once the connection is closed. */
  response: Promise<string>
}

/** Sends the head of a chat request with these framing headers; the caller writes the body. */
export function sendRawRequest(server: TestServer, account: Account, framing: string): RawRequest {
  const socket = connect(server.relay.port, '127.0.0.1')
  const parts: Buffer[] = []
  const { promise, resolve } = Promise.withResolvers<string>()
  socket.on('data', (part: Buffer) => parts.push(part))
  socket.on('close', () => resolve(Buffer.concat(parts).toString()))
  // The relay may close the connection while we still send.
  socket.on('error', () => undefined)
  socket.write(requestHead(account, framing))
  return { socket, response: promise }
}

/** The head of a chat request with these framing headers. */
export function requestHead({ key }: Account, framing: string): string {
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key.secret}\r\n`
  return `${head}content-type: application/json\r\n${framing}\r\n\r\n`
}

/** Sends a complete request and never reads the response. */
export function sendWithoutReading(server: TestServer, account: Account, request: object): Socket {
  const body = JSON.stringify(request)
  const { socket } = sendRawRequest(server, account, `content-length: ${Buffer.byteLength(body)}`)
  socket.pause().write(body)
  return socket
}

/** Whether the relay has this connection open. */
export function isOpenAtRelay(server: TestServer, { localPort }: Socket): boolean {
  const established = '01'
  const [ownPort, peerPort] = [server.relay.port, localPort ?? 0].map((port) =>
    port.toString(16).toUpperCase().padStart(4, '0'),
  )
  const row = new RegExp(`^ *\\d+: \\w+:${ownPort} \\w+:${peerPort} ${established} `, 'm')
  return ['tcp', 'tcp6'].some((name) =>
    row.test(readFileSync(`/proc/${server.relay.pid}/net/${name}`, 'utf8')),
  )
}

/** Why tests that inspect the relay's process are skipped; false on Linux. */
export const procSkipReason = process.platform === 'linux' ? false : 'only Linux has /proc'

/** The bytes the relay has read so far, from sockets and files. */
export function bytesRead(server: TestServer): number {
  return readProcValue(server, 'io', 'rchar')
}

/** The relay's resident memory in MiB. */
export function residentMiB(server: TestServer): number {
  return readProcValue(server, 'status', 'VmRSS') / 1024
}

/** The most memory that was resident at any time, in MiB. */
export function peakResidentMiB(server: TestServer): number {
  return readProcValue(server, 'status', 'VmHWM') / 1024
}

function readProcValue(server: TestServer, file: string, name: string): number {
  const text = readFileSync(`/proc/${server.relay.pid}/${file}`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1])
}
