/** Upstreams that compress although they were asked not to: read as if they had not, and within bounds. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBrotliCompress, createDeflate, createGzip, createZstdCompress, gzipSync } from 'node:zlib'

import { nanosOf } from '../src/lib/money.ts'
import { payloadsOf, question } from './support/server/account.ts'
import { recordOf } from './support/client/responses.ts'
import type { Exchange, Script } from './support/upstream/exchange.ts'
import { shareHouse } from './support/server/test-server.ts'
import { failing, saying, words } from './support/upstream/scripted-responses.ts'

const house = await shareHouse()
const upstream = await house.upstream(saying('Hello!'))
await house.model('m', { upstreams: [upstream] })

const compressors = {
  gzip: createGzip,
  deflate: createDeflate,
  br: createBrotliCompress,
  zstd: createZstdCompress,
} as const

type Coding = keyof typeof compressors

/** The same answer, compressed: what is written goes out at once, as a server's compression does with a stream. */
function encoded(coding: Coding, script: Script): Script {
  return (exchange) => {
    const compressor = compressors[coding]()
    const taken = (): Buffer => (compressor.read() as Buffer | null) ?? Buffer.alloc(0)
    const write = async (bytes: string | Buffer): Promise<boolean> => {
      compressor.write(bytes)
      await new Promise<void>((resolve) => compressor.flush(resolve))
      return exchange.write(taken())
    }
    const inner: Exchange = {
      ...exchange,
      head(status, { 'content-length': _length, ...headers } = {}) {
        exchange.head(status, { ...headers, 'content-encoding': coding })
      },
      write,
      event: (payload, name) => write(exchange.frame(payload, name)),
      async end() {
        compressor.end()
        const rest: Buffer[] = []
        for await (const piece of compressor) rest.push(piece as Buffer)
        if (await exchange.write(Buffer.concat(rest))) await exchange.end()
      },
    }
    return script(inner)
  }
}

/** Bytes as they are, under a header that says what they are. */
function sending(coding: string, type: string, pieces: readonly Buffer[]): Script {
  return async (exchange) => {
    exchange.head(200, { 'content-type': type, 'content-encoding': coding })
    for (const piece of pieces) if (!(await exchange.write(piece))) return
    await exchange.end()
  }
}

for (const coding of Object.keys(compressors) as Coding[]) {
  test(`an answer in ${coding} is the answer, whole and streamed, for the same money`, async () => {
    const account = await house.account({ balance: '¥1' })
    const text = words(200).join('')
    for (const stream of [false, true]) {
      const seen: string[] = []
      for (const script of [saying(text), encoded(coding, saying(text))]) {
        upstream.next(script)
        const reply = await account.post(question('m', { stream }))
        assert.equal(reply.status, 200)
        assert.equal(reply.headers.get('content-encoding'), null)
        const body = await reply.text()
        seen.push(body.replaceAll(/chatcmpl-\w+|"created":\d+/g, ''))
        const record = await recordOf(account, reply)
        assert.equal(nanosOf(record.cost), 30_000n)
      }
      assert.equal(seen[0], seen[1])
    }
  })
}

test('a refusal that is compressed is told in its own words', async () => {
  const account = await house.account({ balance: '¥1' })
  const error = { message: 'temperature is too hot', type: 'invalid_request_error', param: null, code: null }
  for (const stream of [false, true]) {
    upstream.next(encoded('gzip', failing(400, { error })))
    const reply = await account.post(question('m', { stream }))
    assert.equal(reply.status, 400)
    assert.match(await reply.text(), /temperature is too hot/)
  }
})

test('what is no gzip under its name, or names a coding that nobody knows, is no answer', async () => {
  const account = await house.account({ balance: '¥1' })
  for (const coding of ['gzip', 'br', 'zstd', 'constructor', '__proto__']) {
    upstream.next(sending(coding, 'application/json', [Buffer.from('\u0001\u0002 no answer')]))
    assert.equal((await account.post(question('m'))).status, 503, coding)
  }
  assert.equal(nanosOf(await account.balance()), nanosOf('1'))
})

test('an answer that swells without measure is given up, before and after its first word', async () => {
  const account = await house.account({ balance: '¥1' })
  const nothing = gzipSync(Buffer.alloc(64 * 1024 * 1024, '\n'))
  upstream.next(sending('gzip', 'application/json', [nothing]))
  assert.equal((await account.post(question('m'))).status, 503)
  const first = gzipSync('data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hello"}}]}\n\n')
  upstream.next(sending('gzip', 'text/event-stream', [first, nothing]))
  const reply = await account.post(question('m', { stream: true }))
  assert.equal(reply.status, 200)
  const payloads = await payloadsOf(reply)
  assert.match(payloads[0] ?? '', /Hello/)
  assert.match(payloads.at(-1) ?? '', /"error"/)
  assert.equal((await recordOf(account, reply)).outcome, 'truncated')
})
