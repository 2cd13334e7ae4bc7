import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../errors.ts'
import {
  allowsAddress,
  allowsModel,
  cleanModels,
  cleanNetworks,
  compileModels,
  compileNetworks,
} from './allowlists.ts'

function isInvalid(param: string): (error: unknown) => boolean {
  return (error) => error instanceof ApiError && error.status === 400 && error.detail.param === param
}

describe('allowlists', () => {
  test('a list of models – allows exact names and the prefixes of starred entries', () => {
    const list = compileModels(cleanModels(['family-a-small', 'family-b-*']))
    for (const model of ['family-a-small', 'family-b-top', 'family-b-'])
      assert.ok(allowsModel(list, model), model)
    for (const model of ['family-a-small-16k', 'family-b', 'FAMILY-B-top', ''])
      assert.ok(!allowsModel(list, model), model)
  })

  test('no list, an empty list and a single star – allow everything', () => {
    assert.equal(cleanModels([]), null)
    assert.equal(cleanNetworks([]), null)
    assert.ok(allowsModel(null, 'any'))
    assert.ok(allowsModel(compileModels(['*']), 'any'))
    assert.ok(allowsAddress(null, 'anything'))
  })

  test('an invalid model entry – is rejected with its index', () => {
    assert.throws(() => cleanModels(['ok', '']), isInvalid('models[1]'))
    for (const entry of ['a*b', '**', 'a b', 'a\nb'])
      assert.throws(() => cleanModels([entry]), isInvalid('models[0]'), entry)
  })

  test('an address – is allowed inside its network in every notation, and nowhere else', () => {
    const list = compileNetworks(
      cleanNetworks(['10.1.0.0/16', '192.0.2.7', '2001:db8::/32', '::ffff:198.51.100.0/120']),
    )
    const inside = [
      '10.1.255.255',
      '::ffff:10.1.2.3',
      '192.0.2.7',
      '2001:db8:1::1',
      '198.51.100.9',
      '::ffff:c633:6409',
    ]
    const outside = ['10.2.0.0', '192.0.2.8', '2001:db9::', '198.51.101.1', '', 'localhost', '10.1.0.0/16']
    for (const address of inside) assert.ok(allowsAddress(list, address), address)
    for (const address of outside) assert.ok(!allowsAddress(list, address), address)
  })

  test('an invalid network entry – is rejected with its index', () => {
    for (const entry of [
      '',
      '10.0.0.0/33',
      '10.0.0/8',
      '127.1',
      '0x7f000001',
      'example.com',
      '2001:db8::/129',
    ]) {
      assert.throws(() => cleanNetworks(['10.0.0.0/8', entry]), isInvalid('ips[1]'), entry)
    }
  })
})
