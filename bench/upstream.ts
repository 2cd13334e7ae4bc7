/**
 * The upstream of the bench, a process of its own: it reads requests over raw sockets and writes canned answers, as
 * cheaply as that can be done, so that what is measured is the relay. Streams are paced: one event, one write.
 * Started with an IPC channel, over which it tells its port.
 */

import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

import { isSilent, isStream, isThinking, streamEvents, thinkMs, wholeAnswer } from './payloads.ts'
import { anthropic, gemini, type Canned } from './provider-responses.ts'

/** Between two events of one stream. */
const paceMs = Number(process.argv[2] ?? 20)
/** Streams are spread over this many slots of the pace, so that their events do not come all at once. */
const slotCount = 10

const streamHead = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n',
)

/** An answer framed in HTTP: whole, and as the writes of its stream. */
function framed({ whole, events }: Canned): Canned {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${whole.length}\r\n\r\n`
  return {
    whole: Buffer.concat([Buffer.from(head), whole]),
    events: events.map((event, index) =>
      Buffer.concat([
        Buffer.from(`${event.length.toString(16)}\r\n`),
        event,
        Buffer.from(index === events.length - 1 ? '\r\n0\r\n\r\n' : '\r\n'),
      ]),
    ),
  }
}

const common = framed({ whole: wholeAnswer, events: streamEvents })
const byAnthropic = framed(anthropic)
const byGemini = framed(gemini)

function dialectOf(head: string): Canned {
  if (head.startsWith('POST /v1/messages ')) return byAnthropic
  return head.includes('enerateContent') ? byGemini : common
}

interface Stream {
  readonly socket: Socket
  readonly writes: readonly Buffer[]
  sent: number
}

const slots: Stream[][] = Array.from({ length: slotCount }, () => [])
let turn = 0
let opened = 0

setInterval(() => {
  const slot = turn++ % slotCount
  slots[slot] = (slots[slot] ?? []).filter((stream) => {
    const bytes = stream.writes[stream.sent++]
    if (bytes === undefined || stream.socket.destroyed) return false
    stream.socket.write(bytes)
    return stream.sent < stream.writes.length
  })
}, paceMs / slotCount)

function answer(socket: Socket, head: string, body: Buffer): void {
  const { whole, events } = dialectOf(head)
  if (isStream(body) || head.includes(':streamGenerateContent')) {
    socket.write(streamHead)
    const writes = isSilent(body) ? events.slice(0, 2) : events
    slots[opened++ % slotCount]?.push({ socket, writes, sent: 0 })
  } else if (isThinking(body)) {
    const due = performance.now() + thinkMs
    // Timers tick in whole milliseconds; the last two are waited out turn by turn.
    const wait = () => (performance.now() < due ? setImmediate(wait) : socket.write(whole))
    setTimeout(wait, thinkMs - 2)
  } else {
    socket.write(whole)
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
      answer(socket, rest.toString('latin1', 0, headEnd), rest.subarray(headEnd + 4, end))
      rest = rest.subarray(end)
    }
    pending = rest.length > 0 ? rest : undefined
  })
})

/** Where the first request ends; 0 when it is not complete. */
function requestEnd(bytes: Buffer): number {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return 0
  const length = /\r\ncontent-length: *(\d+)/i.exec(bytes.toString('latin1', 0, headEnd))?.[1]
  if (length === undefined) throw new Error('the bench upstream wants a content-length')
  const end = headEnd + 4 + Number(length)
  return end <= bytes.length ? end : 0
}

server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => {
  process.send?.((server.address() as AddressInfo).port)
})
process.once('disconnect', () => process.exit())
