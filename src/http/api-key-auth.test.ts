import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Directory } from '../accounts/directory.ts'
import { ApiKeyAuth } from './api-key-auth.ts'

describe('ApiKeyAuth', () => {
  test('loopback addresses and trusted proxies – may have many clients', () => {
    const auth = new ApiKeyAuth(new Directory(), ['203.0.113.0/24', '2001:db8::/32'])
    const local = ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1']
    const proxies = ['203.0.113.7', '::ffff:203.0.113.7', '2001:db8::1']
    for (const address of [...local, ...proxies]) assert.equal(auth.isLocalOrProxy(address), true, address)
    for (const address of ['203.0.114.7', '10.0.0.1', '2001:db9::1', 'fe80::1%eth0', 'fe80::1%br-lan', ''])
      assert.equal(auth.isLocalOrProxy(address), false, address)
  })

  test('without TRUST_PROXY – only loopback addresses may', () => {
    const auth = new ApiKeyAuth(new Directory(), [])
    assert.equal(auth.isLocalOrProxy('127.0.0.1'), true)
    assert.equal(auth.isLocalOrProxy('203.0.113.7'), false)
  })

  test('client address – the last one that is not a trusted proxy’s', () => {
    const auth = new ApiKeyAuth(new Directory(), ['10.0.0.0/8', '2001:db8::/32'])
    for (const [peer, forwardedFor, expected] of [
      ['203.0.113.7', '198.51.100.1', '203.0.113.7'],
      ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
      ['::ffff:10.0.0.1', '192.0.2.1, 198.51.100.1:4711', '198.51.100.1'],
      ['10.0.0.1', '192.0.2.1,198.51.100.1, 10.0.0.2 ,[2001:db8::1]:80', '198.51.100.1'],
      ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
      ['10.0.0.1', '192.0.2.1, unknown, 10.0.0.2', '10.0.0.2'],
      ['10.0.0.1', ',10.0.0.2', '10.0.0.2'],
      ['10.0.0.1', 'fe80::1%a-b, 10.1.2.3', 'fe80::1'],
      ['10.0.0.1', 'fe80::1%25a.b', 'fe80::1'],
      ['10.0.0.1', '', '10.0.0.1'],
      ['10.0.0.1', undefined, '10.0.0.1'],
      [undefined, '198.51.100.1', ''],
    ] as const)
      assert.equal(auth.clientAddress(peer, forwardedFor), expected, `${peer} ${forwardedFor}`)
  })
})
