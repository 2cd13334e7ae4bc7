import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { describe, test } from 'node:test'
import { nodeAddress } from './node-membership.ts'

const common = { netmask: '', mac: '', cidr: null }
const loopback = { ...common, address: '127.0.0.1', family: 'IPv4', internal: true } as const
const six = { ...common, address: '2001:db8::7', family: 'IPv6', internal: false, scopeid: 0 } as const
const four = { ...common, address: '10.0.0.7', family: 'IPv4', internal: false } as const

describe('nodeAddress', () => {
  test('address – is HOST, or one of the machine if the node listens on all', () => {
    const port = 8080
    assert.equal(nodeAddress({ host: '10.1.1.1', port }, networkInterfaces()), '10.1.1.1:8080')
    assert.equal(
      nodeAddress({ host: '0.0.0.0', port }, { lo: [loopback], eth0: [six, four] }),
      '10.0.0.7:8080',
    )
    assert.equal(nodeAddress({ host: '::', port }, { lo: [loopback], eth0: [six] }), '[2001:db8::7]:8080')
    assert.equal(nodeAddress({ host: '0.0.0.0', port }, { lo: [loopback], eth0: undefined }), '0.0.0.0:8080')
  })
})
