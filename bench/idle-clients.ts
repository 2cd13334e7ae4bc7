/**
 * Callers who are a burden only by being there, a process of its own with an IPC channel: `dripping` sends the head of a
 * request byte by byte, `listening` holds a stream that says nothing after its first event. Tells once all are there.
 */
import { connect, type Socket } from 'node:net'

import { clientModel, questionBody } from './payloads.ts'

export interface QuietSettings {
  port: number
  key: string
  kind: 'dripping' | 'listening'
  count: number
}

const dripMs = 10_000
/** So many connections at a time are on their way, or the queue of new ones overflows. */
const openingAtOnce = 100

const { port, key, kind, count } = JSON.parse(process.argv[2] ?? '{}') as QuietSettings
const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${key}\r\n`
let there = 0
let opened = 0

function arrived(): void {
  there += 1
  if (there === count) process.send?.('there')
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
    throw new Error('a caller who waits was sent away')
  })
  if (kind === 'dripping') drip(socket)
  else listen(socket)
}

function drip(socket: Socket): void {
  let at = 0
  const dripOne = (): boolean => socket.write(head[at++ % head.length] ?? '')
  socket.on('connect', () => {
    dripOne()
    setInterval(dripOne, dripMs)
    arrived()
  })
}

function listen(socket: Socket): void {
  const body = questionBody('silent', clientModel)
  socket.write(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`)
  socket.write(body)
  let seen = ''
  const read = (bytes: Buffer | string): void => {
    seen += bytes.toString('latin1')
    if (!seen.includes('data: ')) return
    socket.off('data', read)
    socket.resume()
    arrived()
  }
  socket.on('data', read)
}

for (let opening = 0; opening < openingAtOnce; opening += 1) openNext()
process.once('disconnect', () => process.exit())
