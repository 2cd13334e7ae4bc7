import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ResponseParser } from './response-parser.ts'

interface Transcript {
  heads: string[]
  body: string
  end: 'complete' | 'malformed' | 'unfinished'
}

const maxHeadBytes = 4096

/** Feeds a response, split at `cuts`, then closes the connection. */
function read(response: Buffer, cuts: readonly number[], method = 'POST'): Transcript {
  const parser = new ResponseParser(maxHeadBytes)
  const heads: string[] = []
  const body: string[] = []
  parser.begin(method, {
    onHead: (status, headers) => heads.push(`${status} ${headers.get('content-type') ?? '-'}`),
    onData: (chunk) => {
      assert.ok(chunk.length > 0)
      body.push(chunk.toString('latin1'))
    },
  })
  const bounds = [...new Set([0, ...cuts, response.length])].toSorted((a, b) => a - b)
  for (const [i, start] of bounds.entries()) {
    const piece = response.subarray(start, bounds[i + 1] ?? start)
    if (piece.length === 0) continue
    // As in a real read: in a larger buffer with remains of other responses after it.
    const buffer = Buffer.concat([piece, Buffer.from('\r\n\r\nHTTP/1.1 500 No\r\n\r\n')])
    const status = parser.feed(buffer, piece.length)
    if (status === 'complete' || status === 'malformed') return { heads, body: body.join(''), end: status }
    assert.equal(status, 'more')
  }
  return { heads, body: body.join(''), end: parser.finish() ? 'complete' : 'unfinished' }
}

const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`
const json = 'Content-Type: application/json\r\n'
const validResponses: [name: string, answer: string, body: string][] = [
  ['a stated length', `HTTP/1.1 200 OK\r\n${json}Content-Length: 5\r\n\r\nhello`, 'hello'],
  [
    'a length stated twice alike',
    `HTTP/1.1 200 OK\r\n${json}Content-Length: 2\r\ncontent-length:2, 2\r\n\r\nhi`,
    'hi',
  ],
  ['an empty body', `HTTP/1.1 200 OK\r\n${json}Content-Length: 0\r\n\r\n`, ''],
  ['no reason phrase', `HTTP/1.1 200\r\n${json}Content-Length: 1\r\n\r\nx`, 'x'],
  ['an empty reason phrase', `HTTP/1.1 200 \r\n${json}Content-Length: 1\r\n\r\nx`, 'x'],
  ['a reason in Latin-1', `HTTP/1.1 200 Tr\xe8s bien\r\n${json}Content-Length: 1\r\n\r\nx`, 'x'],
  [
    'chunks',
    `HTTP/1.1 200 OK\r\n${json}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n`,
    'hello!',
  ],
  [
    'chunks with extensions, capitals, padding and trailers',
    `HTTP/1.1 200 OK\r\n${json}TRANSFER-ENCODING:  Chunked \r\n\r\n00A;a=b;c="d"\r\n0123456789\r\n2  \r\n\r\n\r\n1\t\r\n\0\r\n000;x\r\nA: b\r\nB-c:\r\n\r\n`,
    '0123456789\r\n\0',
  ],
  [
    'a body until the close',
    `HTTP/1.1 200 OK\r\n${json}\r\neverything\r\n\r\n0\r\n\r\n`,
    'everything\r\n\r\n0\r\n\r\n',
  ],
  ['HTTP/1.0', `HTTP/1.0 200 OK\r\n${json}\r\nold`, 'old'],
  [
    'interim heads',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\n${json}Content-Length: 2\r\n\r\nok`,
    'ok',
  ],
  [
    'empty and spaced values',
    `HTTP/1.1 200 OK\r\nA:\r\nB: \t \r\n${json}Content-Length: \t 2 \t\r\n\r\nok`,
    'ok',
  ],
]

describe('ResponseParser', () => {
  test('split reads – give the same response at every boundary', () => {
    for (const [name, text, body] of validResponses) {
      const response = Buffer.from(text, 'latin1')
      const expected: Transcript = { heads: ['200 application/json'], body, end: 'complete' }
      assert.deepEqual(read(response, []), expected, name)
      for (let cut = 1; cut < response.length; cut += 1) {
        assert.deepEqual(read(response, [cut]), expected, `${name}, cut at ${cut}`)
      }
      const everywhere = Array.from({ length: response.length }, (_, at) => at)
      assert.deepEqual(read(response, everywhere), expected, `${name}, byte by byte`)
    }
  })

  test('chunk extensions – are bounded per chunk, not per response', () => {
    const response = Buffer.from(`${chunked}${`1;${'a'.repeat(100)}\r\nx\r\n`.repeat(100)}0\r\n\r\n`)
    assert.deepEqual(read(response, []), { heads: ['200 -'], body: 'x'.repeat(100), end: 'complete' })
  })

  test('bodiless responses – have no body, whatever their head says', () => {
    for (const status of [204, 304]) {
      for (const framing of ['', 'Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n']) {
        const response = Buffer.from(`HTTP/1.1 ${status} X\r\n${framing}\r\n`)
        assert.deepEqual(read(response, []), { heads: [`${status} -`], body: '', end: 'complete' })
      }
    }
    const response = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n')
    assert.equal(read(response, [], 'HEAD').end, 'complete')
    assert.equal(read(response, [], 'GET').end, 'unfinished')
  })

  const malformedResponses: string[] = [
    // Status lines.
    'HTTP/2 200 OK\r\n\r\n',
    'HTTP/1.2 200 OK\r\n\r\n',
    'http/1.1 200 OK\r\n\r\n',
    'HTTP/1.1  200 OK\r\n\r\n',
    'HTTP/1.1 20 OK\r\n\r\n',
    'HTTP/1.1 2000 OK\r\n\r\n',
    'HTTP/1.1 099 OK\r\n\r\n',
    'HTTP/1.1 -20 OK\r\n\r\n',
    'HTTP/1.1 200OK\r\n\r\n',
    'HTTP/1.1 200 O\0K\r\n\r\n',
    'HTTP/1.1 200 O\nK\r\n\r\n',
    'HTTP/1.1 200 O\rK\r\n\r\n',
    '\r\nHTTP/1.1 200 OK\r\n\r\n',
    'SSH-2.0-OpenSSH_9.6\r\n',
    '<html>',
    '\x15\x03\x01\x00\x02\x02\x46',
    // Unexpected protocol switches.
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n',
    // Header lines.
    `${ok}A: b\n\r\n\r\n`,
    `${ok}A: b\r\n c\r\n\r\n`,
    `${ok}A: b\r\n\tc\r\n\r\n`,
    `${ok} A: b\r\n\r\n`,
    `${ok}A : b\r\n\r\n`,
    `${ok}: b\r\n\r\n`,
    `${ok}A\r\n\r\n`,
    `${ok}A: b\0\r\n\r\n`,
    `${ok}A\0: b\r\n\r\n`,
    `${ok}A: b\rc\r\n\r\n`,
    `${ok}A: b\x7f\r\n\r\n`,
    `${ok}\xc4: b\r\n\r\n`,
    `${ok}A: ${'b'.repeat(maxHeadBytes)}\r\n\r\n`,
    `${ok}A: ${'b'.repeat(maxHeadBytes)}`,
    'HTTP/1.1 100 Continue\r\n\r\n'.repeat(200),
    // Framing.
    `${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
    `${ok}Content-Length: 1, 2\r\n\r\nab`,
    `${ok}Content-Length: -1\r\n\r\n`,
    `${ok}Content-Length: +1\r\n\r\na`,
    `${ok}Content-Length: 0x1\r\n\r\na`,
    `${ok}Content-Length: 1e1\r\n\r\na`,
    `${ok}Content-Length: 1 1\r\n\r\na`,
    `${ok}Content-Length:\r\n\r\na`,
    `${ok}Content-Length: 1,\r\n\r\na`,
    `${ok}Content-Length: 9999999999999999\r\n\r\na`,
    `${ok}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `${ok}Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n`,
    `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    `${ok}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`,
    `${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `${ok}Transfer-Encoding: identity\r\n\r\n`,
    `${ok}Transfer-Encoding:\r\n\r\n`,
    `${ok}Transfer-Encoding: xchunked\r\n\r\n`,
    // Chunks.
    `${chunked}-1\r\na\r\n0\r\n\r\n`,
    `${chunked}+1\r\na\r\n0\r\n\r\n`,
    `${chunked}0x1\r\na\r\n0\r\n\r\n`,
    `${chunked}g\r\n`,
    `${chunked}\r\n`,
    `${chunked};a\r\n`,
    `${chunked} 1\r\na\r\n`,
    `${chunked}ffffffffffffffff\r\na`,
    `${chunked}00000000000001\r\na`,
    `${chunked}1\na\r\n`,
    `${chunked}1\r\nab\r\n`,
    `${chunked}1\r\na\n`,
    `${chunked}1\r\na\rb`,
    `${chunked}1;a\nb\r\na\r\n`,
    `${chunked}1;\0\r\na\r\n`,
    `${chunked}1;${'a'.repeat(maxHeadBytes + 1)}`,
    `${chunked}1\rx`,
    // Trailers.
    `${chunked}0\r\nA: b\r\n c\r\n\r\n`,
    `${chunked}0\r\nA\r\n\r\n`,
    `${chunked}0\r\n: b\r\n\r\n`,
    `${chunked}0\r\nA: b\n\r\n`,
    `${chunked}0\r\nA: \0\r\n\r\n`,
    `${chunked}0\r\n\rx`,
    `${chunked}0\r\n${`A: ${'b'.repeat(100)}\r\n`.repeat(60)}\r\n`,
  ]

  test('ambiguous responses – are malformed at every boundary', () => {
    for (const text of malformedResponses) {
      const response = Buffer.from(text, 'latin1')
      const name = JSON.stringify(text.slice(0, 100))
      const unsplit = read(response, [])
      assert.equal(unsplit.end, 'malformed', name)
      for (let cut = 1; cut < Math.min(response.length, 300); cut += 1) {
        assert.deepEqual(read(response, [cut]), unsplit, `${name}, cut at ${cut}`)
      }
    }
  })

  test('truncated responses – are never complete', () => {
    for (const [name, text] of validResponses) {
      if (/until the close|1\.0/.test(name)) continue
      const response = Buffer.from(text, 'latin1')
      for (let length = 0; length < response.length; length += 1) {
        assert.equal(read(response.subarray(0, length), []).end, 'unfinished', `${name}, ${length} bytes`)
      }
    }
  })

  test('property – any body in any chunks at any boundaries comes out unchanged', () => {
    const part = fc.uint8Array({ minLength: 1, maxLength: 40 })
    const cuts = fc.array(fc.nat(2000), { maxLength: 30 })
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), cuts, fc.boolean(), (parts, at, isChunked) => {
        const body = Buffer.concat(parts)
        const frames = parts.flatMap((bytes) => [
          `${bytes.length.toString(16)}\r\n`,
          Buffer.from(bytes),
          '\r\n',
        ])
        const pieces = isChunked
          ? [chunked, ...frames, '0\r\n\r\n']
          : [`${ok}Content-Length: ${body.length}\r\n\r\n`, body]
        const response = Buffer.concat(pieces.map((piece) => Buffer.from(piece as string, 'latin1')))
        const expected: Transcript = { heads: ['200 -'], body: body.toString('latin1'), end: 'complete' }
        assert.deepEqual(
          read(
            response,
            at.filter((cut) => cut < response.length),
          ),
          expected,
        )
      }),
      { numRuns: 300 },
    )
  })

  test('property – noise never throws and never gives more than one response', () => {
    const fragment = fc.constantFrom(
      'HTTP/1.1 200 OK\r\n',
      '\r\n',
      'Content-Length: 3\r\n',
      'Transfer-Encoding: chunked\r\n',
      '3\r\n',
      'abc',
      '0\r\n',
      ':',
      '\n',
      '\0',
      'A: b\r\n',
      'HTTP/1.1 100 C\r\n\r\n',
    )
    fc.assert(
      fc.property(
        fc.array(fragment, { maxLength: 12 }),
        fc.array(fc.nat(150), { maxLength: 8 }),
        (fragments, at) => {
          const response = Buffer.from(fragments.join(''), 'latin1')
          const cuts = at.filter((cut) => cut < response.length)
          assert.deepEqual(read(response, cuts), read(response, []))
          assert.ok(read(response, cuts).heads.length <= 1)
        },
      ),
      { numRuns: 500 },
    )
  })

  test('chunks – of one read are emitted as one piece', () => {
    const parser = new ResponseParser(maxHeadBytes)
    const emitted: string[] = []
    parser.begin('POST', { onHead: () => {}, onData: (chunk) => emitted.push(chunk.toString()) })
    const response = Buffer.from(`${chunked}3\r\nabc\r\n2\r\nde\r\n4\r\nfghi\r\n`)
    assert.equal(parser.feed(response, response.length), 'more')
    assert.deepEqual(emitted, ['abcdefghi'])
  })

  test('stop – emits nothing more', () => {
    for (const stopAt of ['head', 'data']) {
      const parser = new ResponseParser(maxHeadBytes)
      const emitted: string[] = []
      const record = (what: string): void => {
        emitted.push(what)
        if (what === stopAt) parser.stop()
      }
      parser.begin('POST', { onHead: () => record('head'), onData: () => record('data') })
      const response = Buffer.from(`${ok}Content-Length: 2\r\n\r\nok`)
      assert.equal(parser.feed(response, response.length), 'stopped')
      assert.equal(emitted.at(-1), stopAt)
    }
  })
})
