import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { maxHeadBytes, RequestHead, type ParseResult } from './request-head.ts'

const line = 'POST /v1/chat/completions HTTP/1.1\r\n'

function parse(head: string): ParseResult {
  return new RequestHead().parse(Buffer.from(head, 'latin1'))
}

/** A head with these lines in addition to the required ones. */

function headWith(...lines: string[]): string {
  return `${line}Host: relay.test\r\nContent-Length: 7\r\n${lines.map((each) => `${each}\r\n`).join('')}\r\n`
}

describe('RequestHead', () => {
  test('plain head – parsed, header names in any case', () => {
    const head = new RequestHead()
    const text = headWith(
      'AUTHORIZATION: Bearer k',
      'content-Type:application/json',
      'X-Forwarded-For: \t 1.2.3.4 \t',
    )
    assert.equal(head.parse(Buffer.from(`${text}{"a":1}`)), 'complete')
    assert.equal(head.path, '/v1/chat/completions')
    assert.equal(head.contentLength, 7)
    assert.equal(head.end, text.length)
    assert.equal(head.header('authorization'), 'Bearer k')
    assert.equal(head.header('content-type'), 'application/json')
    assert.equal(head.header('x-forwarded-for'), '1.2.3.4')
    assert.equal(head.header('origin'), undefined)
  })

  for (const path of ['/v1/responses', '/messages', '/v1/embeddings', '/completions']) {
    test(`${path} – supported, with the headers of its clients`, () => {
      const head = new RequestHead()
      const lines = ['Anthropic-Version: 2023-06-01', 'anthropic-beta: a,b']
      const text = headWith(...lines).replace('/v1/chat/completions', path)
      assert.equal(head.parse(Buffer.from(text)), 'complete')
      const version = head.header('anthropic-version')
      assert.deepEqual([head.path, version, head.header('anthropic-beta')], [path, '2023-06-01', 'a,b'])
    })
  }

  test('empty header value – returned as an empty string', () => {
    const head = new RequestHead()
    assert.equal(head.parse(Buffer.from(headWith('Origin: '))), 'complete')
    assert.equal(head.header('origin'), '')
  })

  test('every prefix of a plain head – partial', () => {
    const head = headWith('Connection: Keep-Alive', 'Authorization: Bearer k')
    for (let length = 0; length < head.length; length += 1) {
      assert.equal(parse(head.slice(0, length)), 'partial', JSON.stringify(head.slice(0, length)))
    }
    assert.equal(parse(head), 'complete')
  })

  const unsupported: Readonly<Record<string, string>> = {
    'another method': headWith().replace('POST', 'GET'),
    'a method in lower case': headWith().replace('POST', 'post'),
    'another path': headWith().replace('completions', 'completionz'),
    'a query': headWith().replace('completions', 'completions?a=1'),
    'an absolute address': headWith().replace(' /v1', ' http://x/v1'),
    'another version': headWith().replace('HTTP/1.1', 'HTTP/1.0'),
    'two spaces in the request line': headWith().replace(' /v1', '  /v1'),
    'a leading empty line': `\r\n${headWith()}`,
    'no host': headWith().replace('Host: relay.test\r\n', ''),
    'two hosts': headWith('Host: relay.test'),
    'no length': headWith().replace('Content-Length: 7\r\n', ''),
    'two lengths': headWith('content-length: 7'),
    'an empty length': headWith().replace(' 7', ''),
    'a length with a sign': headWith().replace(' 7', ' +7'),
    'a negative length': headWith().replace(' 7', ' -7'),
    'a hexadecimal length': headWith().replace(' 7', ' 0x7'),
    'a list of lengths': headWith().replace(' 7', ' 7, 7'),
    'a length followed by a space': headWith().replace(' 7', ' 7 '),
    'a length with too many digits': headWith().replace(' 7', ' 9999999999999999'),
    'a transfer-encoding': headWith('Transfer-Encoding: chunked'),
    'an expectation': headWith('Expect: 100-continue'),
    'an upgrade': headWith('Upgrade: h2c'),
    'a connection that closes': headWith('Connection: close'),
    'a connection with more options': headWith('Connection: keep-alive, x'),
    'two connection lines': headWith('Connection: keep-alive', 'Connection: keep-alive'),
    'a Proxy-Connection header': headWith('Proxy-Connection: keep-alive'),
    'two authorizations': headWith('Authorization: a', 'authorization: b'),
    'two content types': headWith('Content-Type: a', 'content-type: b'),
    'two versions': headWith('Anthropic-Version: a', 'Anthropic-Version: a'),
    'two origins': headWith('Origin: a', 'Origin: a'),
    'two X-Forwarded-For headers': headWith('X-Forwarded-For: 1.1.1.1', 'X-Forwarded-For: 2.2.2.2'),
    'a folded line': headWith('X-A: b', ' c'),
    'a space before the colon': headWith('X-A : b'),
    'a line without a colon': headWith('nothing'),
    'a line without a name': headWith(': b'),
    'a name with a space': headWith('X A: b'),
    'a name beyond ASCII': headWith('X-\xe4: b'),
    'a NUL': headWith('X-A: \0'),
    'a DEL': headWith('X-A: \x7f'),
    'a CR within a value': headWith('X-A: a\rb'),
    'a LF alone': headWith('X-A: a\nX-B: b'),
    'line ends without CR': headWith().replaceAll('\r\n', '\n'),
    'an empty line without CR': headWith().replace(/\r\n$/, '\n'),
    'a last CR without LF': headWith().replace(/\n$/, 'x'),
    'too many headers': headWith(...Array.from({ length: 200 }, () => 'X-A: b')),
  }

  for (const [what, head] of Object.entries(unsupported)) {
    test(`${what} – unsupported`, () => {
      assert.equal(parse(head), 'unsupported')
    })
  }

  test('head size – supported up to the bound, unsupported beyond', () => {
    const remaining = maxHeadBytes - headWith('X-A: ').length
    assert.equal(parse(headWith(`X-A: ${'x'.repeat(remaining)}`)), 'complete')
    assert.equal(parse(headWith(`X-A: ${'x'.repeat(remaining + 1)}`)), 'unsupported')
    assert.equal(parse(`${line}X-A: ${'x'.repeat(maxHeadBytes)}`), 'unsupported')
  })

  test('bytes of the body – ignored', () => {
    assert.equal(parse(headWith() + '\0'.repeat(100_000)), 'complete')
  })
})
