import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addressNetwork } from './address-network.ts'

describe('addressNetwork', () => {
  test('IPv4 – each address is a network, also in its IPv6-mapped form', () => {
    assert.equal(addressNetwork('203.0.113.7'), '203.0.113.7')
    assert.equal(addressNetwork('::ffff:203.0.113.7'), '203.0.113.7')
    assert.notEqual(addressNetwork('203.0.113.8'), addressNetwork('203.0.113.7'))
  })

  test('IPv6 – all addresses of a /64 are one network', () => {
    const network = addressNetwork('2001:db8:0:1::1')
    assert.equal(network, '2001:db8:0:1::/64')
    assert.equal(addressNetwork('2001:db8:0:1:ffff:ffff:ffff:ffff'), network)
    assert.equal(addressNetwork('2001:db8:0:1::1%eth0'), network)
    assert.notEqual(addressNetwork('2001:db8:0:2::1'), network)
  })

  test('other text – is a network of its own', () => {
    assert.equal(addressNetwork('unknown'), 'unknown')
  })
})
