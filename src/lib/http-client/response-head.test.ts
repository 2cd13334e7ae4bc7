import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ResponseParser } from './response-parser.ts'

const maxHeadBytes = 4096
const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`

describe('response head', () => {
  test('headers – are found in any case, and repeated ones are joined', () => {
    const parser = new ResponseParser(maxHeadBytes)
    let values: (string | null)[] = []
    parser.begin('POST', {
      onHead: (_status, headers) => {
        values = ['x-a', 'x', 'a', 'x-empty', 'retry-after', 'latin'].map((name) => headers.get(name))
      },
      onData: () => {},
    })
    const response = Buffer.from(
      `${ok}X-A: 1\r\nx-a:2\r\nX-Empty:\r\nRetry-AFTER: \t7 \r\nx-b: x-c: 3\r\nLatin: \xc4\r\nX-A:3\r\n\r\n`,
      'latin1',
    )
    parser.feed(response, response.length)
    assert.deepEqual(values, ['1, 2, 3', null, null, '', '7', 'Ä'])
  })

  test('isReusable – only after a response that ended where its framing said', () => {
    const isReusableAfter = (text: string): boolean => {
      const parser = new ResponseParser(maxHeadBytes)
      parser.begin('POST', { onHead: () => {}, onData: () => {} })
      const response = Buffer.from(text)
      assert.equal(parser.feed(response, response.length), 'complete')
      return parser.isReusable
    }
    const empty = 'Content-Length: 0\r\n\r\n'
    assert.equal(isReusableAfter(`${ok}${empty}`), true)
    assert.equal(isReusableAfter(`${chunked}0\r\n\r\n`), true)
    assert.equal(isReusableAfter(`HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n${empty}`), true)
    assert.equal(isReusableAfter(`${ok}Connection: x, Close\r\n${empty}`), false)
    assert.equal(isReusableAfter(`${ok}Connection: close\r\nConnection: keep-alive\r\n${empty}`), false)
    assert.equal(isReusableAfter(`HTTP/1.0 200 OK\r\n${empty}`), false)
    assert.equal(
      isReusableAfter(
        'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      ),
      false,
    )
    assert.equal(isReusableAfter(`${ok}${empty}x`), false)
    assert.equal(isReusableAfter(`${ok}${empty}HTTP/1.1 200 OK\r\n${empty}`), false)
  })
})
