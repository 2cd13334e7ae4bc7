import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AnswerParser } from './http-client/response-parser.ts'

interface Transcript {
  heads: string[]
  body: string
  end: 'complete' | 'malformed' | 'unfinished'
}

const maxHeadBytes = 4096

/** Feeds an answer in the pieces that the cuts make of it, then closes. */
function read(answer: Buffer, cuts: readonly number[], method = 'POST'): Transcript {
  const parser = new AnswerParser(maxHeadBytes)
  const heads: string[] = []
  const body: string[] = []
  parser.begin(method, {
    onHead: (status, headers) => heads.push(`${status} ${headers.get('content-type') ?? '-'}`),
    onData: (chunk) => {
      assert.ok(chunk.length > 0)
      body.push(chunk.toString('latin1'))
    },
  })
  const bounds = [...new Set([0, ...cuts, answer.length])].toSorted((a, b) => a - b)
  for (const [i, start] of bounds.entries()) {
    const piece = answer.subarray(start, bounds[i + 1] ?? start)
    if (piece.length === 0) continue
    // As when read: in a larger buffer with the remains of other answers behind.
    const buffer = Buffer.concat([piece, Buffer.from('\r\n\r\nHTTP/1.1 500 No\r\n\r\n')])
    const progress = parser.feed(buffer, piece.length)
    if (progress === 'complete' || progress === 'malformed')
      return { heads, body: body.join(''), end: progress }
    assert.equal(progress, 'more')
  }
  return { heads, body: body.join(''), end: parser.finish() ? 'complete' : 'unfinished' }
}

const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`
const json = 'Content-Type: application/json\r\n'
const sound: [name: string, answer: string, body: string][] = [
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

test('an answer reads the same wherever it is cut', () => {
  for (const [name, text, body] of sound) {
    const answer = Buffer.from(text, 'latin1')
    const expected: Transcript = { heads: ['200 application/json'], body, end: 'complete' }
    assert.deepEqual(read(answer, []), expected, name)
    for (let cut = 1; cut < answer.length; cut += 1) {
      assert.deepEqual(read(answer, [cut]), expected, `${name}, cut at ${cut}`)
    }
    const everywhere = Array.from({ length: answer.length }, (_, at) => at)
    assert.deepEqual(read(answer, everywhere), expected, `${name}, byte by byte`)
  }
})

test('extensions are bounded for each chunk, not for the answer', () => {
  const answer = Buffer.from(`${chunked}${`1;${'a'.repeat(100)}\r\nx\r\n`.repeat(100)}0\r\n\r\n`)
  assert.deepEqual(read(answer, []), { heads: ['200 -'], body: 'x'.repeat(100), end: 'complete' })
})

test('answers that have no body have none, whatever their head says', () => {
  for (const status of [204, 304]) {
    for (const framing of ['', 'Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n']) {
      const answer = Buffer.from(`HTTP/1.1 ${status} X\r\n${framing}\r\n`)
      assert.deepEqual(read(answer, []), { heads: [`${status} -`], body: '', end: 'complete' })
    }
  }
  const answer = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n')
  assert.equal(read(answer, [], 'HEAD').end, 'complete')
  assert.equal(read(answer, [], 'GET').end, 'unfinished')
})

const malformed: string[] = [
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
  // Protocols that nobody asked for.
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

test('an answer that can be read in two ways is malformed, wherever it is cut', () => {
  for (const text of malformed) {
    const answer = Buffer.from(text, 'latin1')
    const name = JSON.stringify(text.slice(0, 100))
    const whole = read(answer, [])
    assert.equal(whole.end, 'malformed', name)
    for (let cut = 1; cut < Math.min(answer.length, 300); cut += 1) {
      assert.deepEqual(read(answer, [cut]), whole, `${name}, cut at ${cut}`)
    }
  }
})

test('a cut-off answer is never complete', () => {
  for (const [name, text] of sound) {
    if (/until the close|1\.0/.test(name)) continue
    const answer = Buffer.from(text, 'latin1')
    for (let length = 0; length < answer.length; length += 1) {
      assert.equal(read(answer.subarray(0, length), []).end, 'unfinished', `${name}, ${length} bytes`)
    }
  }
})

test('any body in any chunks with any cuts comes out as it went in', () => {
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
      const answer = Buffer.concat(pieces.map((piece) => Buffer.from(piece as string, 'latin1')))
      const expected: Transcript = { heads: ['200 -'], body: body.toString('latin1'), end: 'complete' }
      assert.deepEqual(
        read(
          answer,
          at.filter((cut) => cut < answer.length),
        ),
        expected,
      )
    }),
    { numRuns: 300 },
  )
})

test('noise never throws, and never reads as more than one answer', () => {
  const word = fc.constantFrom(
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
    fc.property(fc.array(word, { maxLength: 12 }), fc.array(fc.nat(150), { maxLength: 8 }), (words, at) => {
      const answer = Buffer.from(words.join(''), 'latin1')
      const cuts = at.filter((cut) => cut < answer.length)
      assert.deepEqual(read(answer, cuts), read(answer, []))
      assert.ok(read(answer, cuts).heads.length <= 1)
    }),
    { numRuns: 500 },
  )
})

test('all chunks of one read are told as one piece', () => {
  const parser = new AnswerParser(maxHeadBytes)
  const told: string[] = []
  parser.begin('POST', { onHead: () => {}, onData: (chunk) => told.push(chunk.toString()) })
  const answer = Buffer.from(`${chunked}3\r\nabc\r\n2\r\nde\r\n4\r\nfghi\r\n`)
  assert.equal(parser.feed(answer, answer.length), 'more')
  assert.deepEqual(told, ['abcdefghi'])
})

test('a sink that stops the parser is told nothing more', () => {
  for (const stopAt of ['head', 'data']) {
    const parser = new AnswerParser(maxHeadBytes)
    const told: string[] = []
    const tell = (what: string): void => {
      told.push(what)
      if (what === stopAt) parser.stop()
    }
    parser.begin('POST', { onHead: () => tell('head'), onData: () => tell('data') })
    const answer = Buffer.from(`${ok}Content-Length: 2\r\n\r\nok`)
    assert.equal(parser.feed(answer, answer.length), 'stopped')
    assert.equal(told.at(-1), stopAt)
  }
})
