import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mostHeadBytes, RequestHead, type Verdict } from './server/request-head.ts'

const line = 'POST /v1/chat/completions HTTP/1.1\r\n'

function verdictOf(head: string): Verdict {
  return new RequestHead().parse(Buffer.from(head, 'latin1'))
}

/** A head with these lines beside the ones that it needs. */
function headWith(...lines: string[]): string {
  return `${line}Host: relay.test\r\nContent-Length: 7\r\n${lines.map((each) => `${each}\r\n`).join('')}\r\n`
}

test('a regular head is read as it is written, names in any case', () => {
  const head = new RequestHead()
  const text = headWith(
    'AUTHORIZATION: Bearer k',
    'content-Type:application/json',
    'X-Forwarded-For: \t 1.2.3.4 \t',
  )
  assert.equal(head.parse(Buffer.from(`${text}{"a":1}`)), 'regular')
  assert.equal(head.path, '/v1/chat/completions')
  assert.equal(head.contentLength, 7)
  assert.equal(head.end, text.length)
  assert.equal(head.header('authorization'), 'Bearer k')
  assert.equal(head.header('content-type'), 'application/json')
  assert.equal(head.header('x-forwarded-for'), '1.2.3.4')
  assert.equal(head.header('origin'), undefined)
})

test('an empty value is not a missing one', () => {
  const head = new RequestHead()
  assert.equal(head.parse(Buffer.from(headWith('Origin: '))), 'regular')
  assert.equal(head.header('origin'), '')
})

test('every beginning of a regular head is a part of one', () => {
  const whole = headWith('Connection: Keep-Alive', 'Authorization: Bearer k')
  for (let length = 0; length < whole.length; length += 1) {
    assert.equal(verdictOf(whole.slice(0, length)), 'partial', JSON.stringify(whole.slice(0, length)))
  }
  assert.equal(verdictOf(whole), 'regular')
})

const irregular: Readonly<Record<string, string>> = {
  'another method': headWith().replace('POST', 'GET'),
  'a method in lower case': headWith().replace('POST', 'post'),
  'another path': headWith().replace('completions', 'completionz'),
  'a query': headWith().replace('completions', 'completions?a=1'),
  'an absolute address': headWith().replace(' /v1', ' http://x/v1'),
  'another version': headWith().replace('HTTP/1.1', 'HTTP/1.0'),
  'two spaces in the request line': headWith().replace(' /v1', '  /v1'),
  'an empty line before it': `\r\n${headWith()}`,
  'no host': headWith().replace('Host: relay.test\r\n', ''),
  'two hosts': headWith('Host: relay.test'),
  'no length': headWith().replace('Content-Length: 7\r\n', ''),
  'two lengths': headWith('content-length: 7'),
  'an empty length': headWith().replace(' 7', ''),
  'a length with a sign': headWith().replace(' 7', ' +7'),
  'a negative length': headWith().replace(' 7', ' -7'),
  'a hexadecimal length': headWith().replace(' 7', ' 0x7'),
  'a list of lengths': headWith().replace(' 7', ' 7, 7'),
  'a length with space behind': headWith().replace(' 7', ' 7 '),
  'a length beyond counting': headWith().replace(' 7', ' 9999999999999999'),
  'a transfer-encoding': headWith('Transfer-Encoding: chunked'),
  'an expectation': headWith('Expect: 100-continue'),
  'an upgrade': headWith('Upgrade: h2c'),
  'a connection that closes': headWith('Connection: close'),
  'a connection with more options': headWith('Connection: keep-alive, x'),
  'two connection lines': headWith('Connection: keep-alive', 'Connection: keep-alive'),
  'a connection of the proxy': headWith('Proxy-Connection: keep-alive'),
  'two authorizations': headWith('Authorization: a', 'authorization: b'),
  'two content types': headWith('Content-Type: a', 'content-type: b'),
  'two origins': headWith('Origin: a', 'Origin: a'),
  'two lists of proxies': headWith('X-Forwarded-For: 1.1.1.1', 'X-Forwarded-For: 2.2.2.2'),
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

for (const [what, head] of Object.entries(irregular)) {
  test(`${what} makes a head irregular`, () => {
    assert.equal(verdictOf(head), 'irregular')
  })
}

test('a head is regular up to its bound, and no part of one beyond', () => {
  const room = mostHeadBytes - headWith('X-A: ').length
  assert.equal(verdictOf(headWith(`X-A: ${'x'.repeat(room)}`)), 'regular')
  assert.equal(verdictOf(headWith(`X-A: ${'x'.repeat(room + 1)}`)), 'irregular')
  assert.equal(verdictOf(`${line}X-A: ${'x'.repeat(mostHeadBytes)}`), 'irregular')
})

test('the body after the head does not change what it is', () => {
  assert.equal(verdictOf(headWith() + '\0'.repeat(100_000)), 'regular')
})
