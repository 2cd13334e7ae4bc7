// @backend both (cluster in long runs)
/** Upstreams that compress although the request does not accept it: responses are decompressed, within bounds. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createBrotliCompress, createDeflate, createGzip, createZstdCompress, gzipSync } from 'node:zlib'

import { parseAmount } from '../../../src/lib/money.ts'
import { readPayloads, chatRequest } from '../../support/server/account.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import type { Exchange, Script } from '../../support/upstream/exchange.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWithError, respondWith, numberedWords } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const upstream = await server.upstream(respondWith('Hello!'))
await server.model('m', { upstreams: [upstream] })

const compressors = {
  gzip: createGzip,
  deflate: createDeflate,
  br: createBrotliCompress,
  zstd: createZstdCompress,
} as const

type Coding = keyof typeof compressors

/** The same response, compressed. Each write is flushed, as servers do when they compress a stream. */
function compress(coding: Coding, script: Script): Script {
  return (exchange) => {
    const compressor = compressors[coding]()
    const readCompressed = (): Buffer => (compressor.read() as Buffer | null) ?? Buffer.alloc(0)
    const write = async (bytes: string | Buffer): Promise<boolean> => {
      compressor.write(bytes)
      await new Promise<void>((resolve) => compressor.flush(resolve))
      return exchange.write(readCompressed())
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

/** Sends these bytes with this content coding, whatever they are. */
function respondWithBytes(coding: string, type: string, pieces: readonly Buffer[]): Script {
  return async (exchange) => {
    exchange.head(200, { 'content-type': type, 'content-encoding': coding })
    for (const piece of pieces) if (!(await exchange.write(piece))) return
    await exchange.end()
  }
}

describe('Compressed upstream responses', () => {
  for (const coding of Object.keys(compressors) as Coding[]) {
    test(`${coding} response – equals the uncompressed one, streaming or not, at the same cost`, async () => {
      const account = await server.account({ balance: '¥1' })
      const text = numberedWords(200).join('')
      for (const stream of [false, true]) {
        const seen: string[] = []
        for (const script of [respondWith(text), compress(coding, respondWith(text))]) {
          upstream.next(script)
          const response = await account.post(chatRequest('m', { stream }))
          assert.equal(response.status, 200)
          assert.equal(response.headers.get('content-encoding'), null)
          const body = await response.text()
          seen.push(body.replaceAll(/chatcmpl-\w+|"created":\d+/g, ''))
          const record = await waitForRecord(account, response)
          assert.equal(parseAmount(record.cost), 30_000n)
        }
        assert.equal(seen[0], seen[1])
      }
    })
  }

  test('Compressed error – keeps its message', async () => {
    const account = await server.account({ balance: '¥1' })
    const error = {
      message: 'temperature is too hot',
      type: 'invalid_request_error',
      param: null,
      code: null,
    }
    for (const stream of [false, true]) {
      upstream.next(compress('gzip', respondWithError(400, { error })))
      const response = await account.post(chatRequest('m', { stream }))
      assert.equal(response.status, 400)
      assert.match(await response.text(), /temperature is too hot/)
    }
  })

  test('Invalid gzip or unknown content coding – returns 503 and costs nothing', async () => {
    const account = await server.account({ balance: '¥1' })
    for (const coding of ['gzip', 'br', 'zstd', 'constructor', '__proto__']) {
      upstream.next(
        respondWithBytes(coding, 'application/json', [Buffer.from('\u0001\u0002 not compressed')]),
      )
      assert.equal((await account.post(chatRequest('m'))).status, 503, coding)
    }
    assert.equal(parseAmount(await account.balance()), parseAmount('1'))
  })

  test('Decompression bomb – is aborted, before and after the first content', async () => {
    const account = await server.account({ balance: '¥1' })
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, '\n'))
    upstream.next(respondWithBytes('gzip', 'application/json', [bomb]))
    assert.equal((await account.post(chatRequest('m'))).status, 503)
    const first = gzipSync('data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hello"}}]}\n\n')
    upstream.next(respondWithBytes('gzip', 'text/event-stream', [first, bomb]))
    const response = await account.post(chatRequest('m', { stream: true }))
    assert.equal(response.status, 200)
    const payloads = await readPayloads(response)
    assert.match(payloads[0] ?? '', /Hello/)
    assert.match(payloads.at(-1) ?? '', /"error"/)
    assert.equal((await waitForRecord(account, response)).outcome, 'truncated')
  })
})
