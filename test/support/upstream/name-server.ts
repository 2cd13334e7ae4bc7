/** A name server for stories: answers as told over real DNS (RFC 1035), on a port of 127.0.0.1. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import ipaddr from 'ipaddr.js'

/** The addresses of a name, as of the n-th time that it is asked for, from 0. */
export type Names = Readonly<Record<string, (nth: number) => readonly string[]>>

const typeA = 1
const typeAaaa = 28

interface Question {
  readonly name: string
  readonly type: number
  /** Where it ends. */
  readonly end: number
}

function questionIn(query: Buffer): Question {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function record(address: string): Buffer {
  const bytes = Buffer.from(ipaddr.parse(address).toByteArray())
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(bytes.length === 4 ? typeA : typeAaaa, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(bytes.length, 10)
  return Buffer.concat([head, bytes])
}

/** The answer to a question; a name that is not known does not exist. */
function replyTo(query: Buffer, question: Question, addresses: readonly string[] | null): Buffer {
  const fitting = (addresses ?? []).filter((each) => each.includes(':') === (question.type === typeAaaa))
  const head = Buffer.from(query.subarray(0, 12))
  head.writeUInt16BE(addresses === null ? 0x8583 : 0x8580, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(fitting.length, 6)
  head.writeUInt32BE(0, 8)
  return Buffer.concat([head, query.subarray(12, question.end), ...fitting.map(record)])
}

/** Opens it until the end of the test; `host:port`. */
export async function openNameServer(t: TestContext, names: Names): Promise<string> {
  const asked = new Map<string, number>()
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const question = questionIn(query)
    const nth = asked.get(`${question.name} ${question.type}`) ?? 0
    asked.set(`${question.name} ${question.type}`, nth + 1)
    socket.send(replyTo(query, question, names[question.name]?.(nth) ?? null), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  return `127.0.0.1:${socket.address().port}`
}
