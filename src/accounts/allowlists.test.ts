import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../errors.ts'
import {
  allowsAddress,
  allowsModel,
  cleanModels,
  cleanNetworks,
  preparedModels,
  preparedNetworks,
} from './allowlists.ts'

function refusedAt(param: string): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.status === 400 && error.detail.param === param
}

test('a list of models allows its names and what begins as its starred entries do', () => {
  const list = preparedModels(cleanModels(['family-a-small', 'family-b-*']))
  for (const model of ['family-a-small', 'family-b-top', 'family-b-'])
    assert.ok(allowsModel(list, model), model)
  for (const model of ['family-a-small-16k', 'family-b', 'FAMILY-B-top', ''])
    assert.ok(!allowsModel(list, model), model)
})

test('no list and an empty list allow everything, a single star too', () => {
  assert.equal(cleanModels([]), null)
  assert.equal(cleanNetworks([]), null)
  assert.ok(allowsModel(null, 'any'))
  assert.ok(allowsModel(preparedModels(['*']), 'any'))
  assert.ok(allowsAddress(null, 'anything'))
})

test('an entry that is no model name is refused by its place', () => {
  assert.throws(() => cleanModels(['ok', '']), refusedAt('models[1]'))
  for (const entry of ['a*b', '**', 'a b', 'a\nb'])
    assert.throws(() => cleanModels([entry]), refusedAt('models[0]'), entry)
})

test('an address is allowed inside its network in every notation, and nowhere else', () => {
  const list = preparedNetworks(
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

test('what is no network is refused by its place', () => {
  for (const entry of [
    '',
    '10.0.0.0/33',
    '10.0.0/8',
    '127.1',
    '0x7f000001',
    'example.com',
    '2001:db8::/129',
  ]) {
    assert.throws(() => cleanNetworks(['10.0.0.0/8', entry]), refusedAt('ips[1]'), entry)
  }
})
