/**
 * The upstream of the benchmark, a process of its own: it reads requests over raw sockets and writes prepared
 * responses as cheaply as possible, so that the relay is what is measured. Streams are paced: one event per
 * write. Started with an IPC channel, over which it sends its port.
 */

import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

import { isSilent, isStream, isDelayed, streamEvents, delayMs, jsonResponse } from './payloads.ts'
import { embeddingsResponse, responsesResponse } from './operation-payloads.ts'
import { anthropicResponse, geminiResponse, type CannedResponse } from './provider-responses.ts'

/** Time between two events of one stream. */
const paceMs = Number(process.argv[2] ?? 20)
/** Streams are distributed over this many time slots, so that their events do not all arrive at once. */
const slotCount = 10

const streamHead = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n',
)

/** A response framed in HTTP: non-streaming, and as the writes of its stream. */
function frame({ json, events }: CannedResponse): CannedResponse {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n`
  return {
    json: Buffer.concat([Buffer.from(head), json]),
    events: events.map((event, index) =>
      Buffer.concat([
        Buffer.from(`${event.length.toString(16)}\r\n`),
        event,
        Buffer.from(index === events.length - 1 ? '\r\n0\r\n\r\n' : '\r\n'),
      ]),
    ),
  }
}

const openaiFrames = frame({ json: jsonResponse, events: streamEvents })
const anthropicFrames = frame(anthropicResponse)
const geminiFrames = frame(geminiResponse)
const responsesFrames = frame(responsesResponse)
const embeddingsFrames = frame(embeddingsResponse)

function responseFor(head: string): CannedResponse {
  if (head.startsWith('POST /v1/messages ')) return anthropicFrames
  if (head.startsWith('POST /v1/responses ')) return responsesFrames
  if (head.startsWith('POST /v1/embeddings ')) return embeddingsFrames
  return head.includes('enerateContent') ? geminiFrames : openaiFrames
}

interface Stream {
  readonly socket: Socket
  readonly writes: readonly Buffer[]
  sent: number
}

const slots: Stream[][] = Array.from({ length: slotCount }, () => [])
let tick = 0
let opened = 0

setInterval(() => {
  const slot = tick++ % slotCount
  slots[slot] = (slots[slot] ?? []).filter((stream) => {
    const bytes = stream.writes[stream.sent++]
    if (bytes === undefined || stream.socket.destroyed) return false
    stream.socket.write(bytes)
    return stream.sent < stream.writes.length
  })
}, paceMs / slotCount)

function respond(socket: Socket, head: string, body: Buffer): void {
  const { json, events } = responseFor(head)
  if (isStream(body) || head.includes(':streamGenerateContent')) {
    socket.write(streamHead)
    const writes = isSilent(body) ? events.slice(0, 2) : events
    slots[opened++ % slotCount]?.push({ socket, writes, sent: 0 })
  } else if (isDelayed(body)) {
    const due = performance.now() + delayMs
    // Timers have a resolution of a millisecond; the last two are spent in setImmediate turns.
    const wait = () => (performance.now() < due ? setImmediate(wait) : socket.write(json))
    setTimeout(wait, delayMs - 2)
  } else {
    socket.write(json)
  }
}

const server = createServer({ noDelay: true }, (socket) => {
  let pending: Buffer | undefined
  socket.on('error', () => socket.destroy())
  socket.on('data', (bytes) => {
    if (typeof bytes === 'string') return
    let rest: Buffer = pending ? Buffer.concat([pending, bytes]) : bytes
    for (let end = requestEnd(rest); end > 0; end = requestEnd(rest)) {
      const headEnd = rest.indexOf('\r\n\r\n')
      respond(socket, rest.toString('latin1', 0, headEnd), rest.subarray(headEnd + 4, end))
      rest = rest.subarray(end)
    }
    pending = rest.length > 0 ? rest : undefined
  })
})

const lastChunk = '\r\n0\r\n\r\n'

/** The end of the first request, or 0 if it is incomplete. Other gateways send chunks, which are not decoded: the marks in a body are whole. */
function requestEnd(bytes: Buffer): number {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return 0
  const head = bytes.toString('latin1', 0, headEnd)
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
    const last = bytes.indexOf(lastChunk, headEnd)
    return last < 0 ? 0 : last + lastChunk.length
  }
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? '0'
  const end = headEnd + 4 + Number(length)
  return end <= bytes.length ? end : 0
}

server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => {
  process.send?.((server.address() as AddressInfo).port)
})
process.once('disconnect', () => process.exit())
