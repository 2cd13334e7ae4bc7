/**
 * Clients that use resources merely by being connected, in a process of its own with an IPC channel:
 * `dripping` clients send the head of a request byte by byte; `listening` clients hold a stream without
 * events after the first one. Sends a message once all are connected.
 */
import { connect, type Socket } from 'node:net'

import { clientModel, requestBody } from './payloads.ts'

export interface IdleClientSettings {
  port: number
  key: string
  kind: 'dripping' | 'listening'
  count: number
}

const byteIntervalMs = 10_000
/** Limits concurrent connection attempts, so that the accept queue does not overflow. */
const maxOpening = 100

const { port, key, kind, count } = JSON.parse(process.argv[2] ?? '{}') as IdleClientSettings
const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${key}\r\n`
let connected = 0
let opened = 0

function onConnected(): void {
  connected += 1
  if (connected === count) process.send?.('connected')
  openNext()
}

function openNext(): void {
  if (opened === count) return
  opened += 1
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.on('error', (error) => {
    throw error
  })
  socket.on('close', () => {
    throw new Error('an idle client was disconnected')
  })
  if (kind === 'dripping') sendSlowly(socket)
  else listen(socket)
}

function sendSlowly(socket: Socket): void {
  let at = 0
  const dripOne = (): boolean => socket.write(head[at++ % head.length] ?? '')
  socket.on('connect', () => {
    dripOne()
    setInterval(dripOne, byteIntervalMs)
    onConnected()
  })
}

function listen(socket: Socket): void {
  const body = requestBody('silent', clientModel)
  socket.write(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`)
  socket.write(body)
  let seen = ''
  const read = (bytes: Buffer | string): void => {
    seen += bytes.toString('latin1')
    if (!seen.includes('data: ')) return
    socket.off('data', read)
    socket.resume()
    onConnected()
  }
  socket.on('data', read)
}

for (let opening = 0; opening < maxOpening; opening += 1) openNext()
process.once('disconnect', () => process.exit())
