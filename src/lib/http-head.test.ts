import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerParser } from './http-client/response-parser.ts'

const maxHeadBytes = 4096
const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`

test('headers are found whatever their case, and repeated ones are joined', () => {
  const parser = new AnswerParser(maxHeadBytes)
  let values: (string | null)[] = []
  parser.begin('POST', {
    onHead: (_status, headers) => {
      values = ['x-a', 'x', 'a', 'x-empty', 'retry-after', 'latin'].map((name) => headers.get(name))
    },
    onData: () => {},
  })
  const answer = Buffer.from(
    `${ok}X-A: 1\r\nx-a:2\r\nX-Empty:\r\nRetry-AFTER: \t7 \r\nx-b: x-c: 3\r\nLatin: \xc4\r\nX-A:3\r\n\r\n`,
    'latin1',
  )
  parser.feed(answer, answer.length)
  assert.deepEqual(values, ['1, 2, 3', null, null, '', '7', 'Ä'])
})

test('a connection is reusable only after an answer that ended where it had to', () => {
  const after = (text: string): boolean => {
    const parser = new AnswerParser(maxHeadBytes)
    parser.begin('POST', { onHead: () => {}, onData: () => {} })
    const answer = Buffer.from(text)
    assert.equal(parser.feed(answer, answer.length), 'complete')
    return parser.isReusable
  }
  const empty = 'Content-Length: 0\r\n\r\n'
  assert.equal(after(`${ok}${empty}`), true)
  assert.equal(after(`${chunked}0\r\n\r\n`), true)
  assert.equal(after(`HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n${empty}`), true)
  assert.equal(after(`${ok}Connection: x, Close\r\n${empty}`), false)
  assert.equal(after(`${ok}Connection: close\r\nConnection: keep-alive\r\n${empty}`), false)
  assert.equal(after(`HTTP/1.0 200 OK\r\n${empty}`), false)
  assert.equal(
    after('HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
    false,
  )
  assert.equal(after(`${ok}${empty}x`), false)
  assert.equal(after(`${ok}${empty}HTTP/1.1 200 OK\r\n${empty}`), false)
})
