import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addressNetwork, siteNetwork } from './address-network.ts'

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

  test('siteNetwork – is the /48 of an IPv6 address', () => {
    assert.equal(siteNetwork('2001:db8:0:1::1'), '2001:db8:0::/48')
    assert.equal(siteNetwork('2001:db8:0:2::9'), siteNetwork('2001:db8:0:1::1'))
    for (const other of ['203.0.113.7', '::ffff:203.0.113.7', '64:ff9b::203.0.113.7', 'unknown'])
      assert.equal(siteNetwork(other), null, other)
  })

  test('NAT64 – each address is a network, because it stands for one IPv4 address', () => {
    assert.notEqual(addressNetwork('64:ff9b::203.0.113.7'), addressNetwork('64:ff9b::203.0.113.8'))
  })

  test('other text – is a network of its own', () => {
    assert.equal(addressNetwork('unknown'), 'unknown')
  })
})
