import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { validatePath, encodeHeaders, parseOrigin } from './request.ts'

describe('outgoing request', () => {
  test('parseOrigin – equal origins have equal keys, others do not', () => {
    assert.deepEqual(parseOrigin('https://API.example.com/v1'), {
      tls: true,
      host: 'api.example.com',
      port: 443,
      authority: 'api.example.com',
      proxy: null,
      key: 'https://api.example.com',
    })
    assert.deepEqual(parseOrigin('http://[::1]:8080/'), {
      tls: false,
      host: '::1',
      port: 8080,
      authority: '[::1]:8080',
      proxy: null,
      key: 'http://[::1]:8080',
    })
    assert.equal(parseOrigin('https://a.test:443/x').key, parseOrigin('https://a.test/y').key)
    assert.notEqual(parseOrigin('https://a.test/').key, parseOrigin('http://a.test/').key)
    assert.equal(parseOrigin('http://a.test').port, 80)
    assert.equal(parseOrigin('http://0x7f.1/').host, '127.0.0.1')
    assert.throws(() => parseOrigin('ftp://a.test/'), TypeError)
    assert.throws(() => parseOrigin('nonsense'), TypeError)
  })

  test('encodeHeaders – encodes lines after the given ones', () => {
    const before = encodeHeaders([['A', '1']])
    assert.equal(encodeHeaders([['B-c', 'x y\tz é']], before), 'A: 1\r\nB-c: x y\tz é\r\n')
    assert.equal(encodeHeaders([]), '')
  })

  test('encodeHeaders – rejects names and values that break out of a line', () => {
    for (const value of ['a\r\nB: c', 'a\n', 'a\r', '\0', '\x7f', '\x1b', 'Ā', '😀', '\u2028']) {
      assert.throws(() => encodeHeaders([['A', value]]), TypeError)
    }
    for (const name of ['', 'A ', ' A', 'A:', 'A\r\nB', 'A\0', 'Ä', 'A\n']) {
      assert.throws(() => encodeHeaders([[name, 'x']]), TypeError, JSON.stringify(name))
    }
    const text = fc.array(fc.nat(300), { maxLength: 6 }).map((codes) => String.fromCharCode(...codes))
    fc.assert(
      fc.property(text, text, (name, value) => {
        let lines = ''
        try {
          lines = encodeHeaders([[name, value]])
        } catch (error) {
          assert.ok(error instanceof TypeError)
        }
        assert.ok(lines === '' || /^[^\r\n:]+: [^\r\n\0]*\r\n$/.test(lines))
      }),
    )
  })

  test('encodeHeaders – rejects headers that the client sets, in any case', () => {
    for (const name of [
      'Host',
      'content-length',
      'Connection',
      'TRANSFER-ENCODING',
      'Expect',
      'upgrade',
      'TE',
    ]) {
      assert.throws(() => encodeHeaders([[name, 'x']]), /set by the client/)
    }
  })

  test('encodeHeaders – never shows a rejected value', () => {
    assert.throws(
      () => encodeHeaders([['Authorization', 'Bearer sk-secret\n']]),
      (error: Error) => !error.message.includes('secret'),
    )
  })

  test('validatePath – rejects paths that break out of the request line', () => {
    const request = {
      origin: parseOrigin('http://a.test'),
      headers: encodeHeaders([]),
      body: [],
      connectTimeoutMs: 1,
    }
    const check = (path: string): void => validatePath({ ...request, method: 'GET', path })
    for (const path of ['/', '/v1/chat?a=b%20c', '/v1/~x:y@z']) check(path)
    for (const path of [
      '',
      'v1',
      '/a b',
      '/a\r\nB: c',
      '/a\n',
      '/\0',
      '/ä',
      '/\x7f',
      'http://b.test/',
      '*',
    ]) {
      assert.throws(() => check(path), TypeError, JSON.stringify(path))
    }
  })
})
