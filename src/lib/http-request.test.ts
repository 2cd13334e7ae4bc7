import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkPath, headerLines, originOf } from './http-client/request.ts'

test('the same origin has the same key, and another has another', () => {
  assert.deepEqual(originOf('https://API.example.com/v1'), {
    tls: true,
    host: 'api.example.com',
    port: 443,
    authority: 'api.example.com',
    proxy: null,
    key: 'https://api.example.com',
  })
  assert.deepEqual(originOf('http://[::1]:8080/'), {
    tls: false,
    host: '::1',
    port: 8080,
    authority: '[::1]:8080',
    proxy: null,
    key: 'http://[::1]:8080',
  })
  assert.equal(originOf('https://a.test:443/x').key, originOf('https://a.test/y').key)
  assert.notEqual(originOf('https://a.test/').key, originOf('http://a.test/').key)
  assert.equal(originOf('http://a.test').port, 80)
  assert.equal(originOf('http://0x7f.1/').host, '127.0.0.1')
  assert.throws(() => originOf('ftp://a.test/'), TypeError)
  assert.throws(() => originOf('nonsense'), TypeError)
})

test('header lines are what they were made of, after those before', () => {
  const before = headerLines([['A', '1']])
  assert.equal(headerLines([['B-c', 'x y\tz é']], before), 'A: 1\r\nB-c: x y\tz é\r\n')
  assert.equal(headerLines([]), '')
})

test('nothing breaks out of a header line', () => {
  for (const value of ['a\r\nB: c', 'a\n', 'a\r', '\0', '\x7f', '\x1b', 'Ā', '😀', '\u2028']) {
    assert.throws(() => headerLines([['A', value]]), TypeError)
  }
  for (const name of ['', 'A ', ' A', 'A:', 'A\r\nB', 'A\0', 'Ä', 'A\n']) {
    assert.throws(() => headerLines([[name, 'x']]), TypeError, JSON.stringify(name))
  }
  const text = fc.array(fc.nat(300), { maxLength: 6 }).map((codes) => String.fromCharCode(...codes))
  fc.assert(
    fc.property(text, text, (name, value) => {
      let lines = ''
      try {
        lines = headerLines([[name, value]])
      } catch (error) {
        assert.ok(error instanceof TypeError)
      }
      assert.ok(lines === '' || /^[^\r\n:]+: [^\r\n\0]*\r\n$/.test(lines))
    }),
  )
})

test('headers that the client sets itself are refused, whatever their case', () => {
  for (const name of [
    'Host',
    'content-length',
    'Connection',
    'TRANSFER-ENCODING',
    'Expect',
    'upgrade',
    'TE',
  ]) {
    assert.throws(() => headerLines([[name, 'x']]), /set by the client/)
  }
})

test('a refused header never shows its value', () => {
  assert.throws(
    () => headerLines([['Authorization', 'Bearer sk-secret\n']]),
    (error: Error) => !error.message.includes('secret'),
  )
})

test('nothing breaks out of the request line', () => {
  const request = {
    origin: originOf('http://a.test'),
    headers: headerLines([]),
    body: [],
    connectTimeoutMs: 1,
  }
  const check = (path: string): void => checkPath({ ...request, method: 'GET', path })
  for (const path of ['/', '/v1/chat?a=b%20c', '/v1/~x:y@z']) check(path)
  for (const path of ['', 'v1', '/a b', '/a\r\nB: c', '/a\n', '/\0', '/ä', '/\x7f', 'http://b.test/', '*']) {
    assert.throws(() => check(path), TypeError, JSON.stringify(path))
  }
})
