/** A scripted DNS server (RFC 1035) on a port of 127.0.0.1. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import ipaddr from 'ipaddr.js'

/** The addresses of each name for its n-th query, from 0. */
export type Names = Readonly<Record<string, (nth: number) => readonly string[]>>

const typeA = 1
const typeAaaa = 28

interface Question {
  readonly name: string
  readonly type: number
  /** The offset of its end. */
  readonly end: number
}

function parseQuestion(query: Buffer): Question {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function encodeRecord(address: string): Buffer {
  const bytes = Buffer.from(ipaddr.parse(address).toByteArray())
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(bytes.length === 4 ? typeA : typeAaaa, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(bytes.length, 10)
  return Buffer.concat([head, bytes])
}

/** The response to a question; NXDOMAIN for a name without addresses. */
function encodeResponse(query: Buffer, question: Question, addresses: readonly string[] | null): Buffer {
  const matching = (addresses ?? []).filter((each) => each.includes(':') === (question.type === typeAaaa))
  const head = Buffer.from(query.subarray(0, 12))
  head.writeUInt16BE(addresses === null ? 0x8583 : 0x8580, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(matching.length, 6)
  head.writeUInt32BE(0, 8)
  return Buffer.concat([head, query.subarray(12, question.end), ...matching.map(encodeRecord)])
}

/** Starts the server for one test; returns `host:port`. */
export async function startNameServer(t: TestContext, names: Names): Promise<string> {
  const queryCounts = new Map<string, number>()
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const question = parseQuestion(query)
    const nth = queryCounts.get(`${question.name} ${question.type}`) ?? 0
    queryCounts.set(`${question.name} ${question.type}`, nth + 1)
    socket.send(encodeResponse(query, question, names[question.name]?.(nth) ?? null), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  return `127.0.0.1:${socket.address().port}`
}
