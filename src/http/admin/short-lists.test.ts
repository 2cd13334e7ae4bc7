import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openOffice } from './admin-server.fixture.ts'
import { shownOf } from './short-lists.ts'

const same = (name: string): string => name

test('a short list is told whole; asked for pages it is told once each, also while it shrinks', () => {
  const items = ['a', 'b', 'c', 'd', 'e']
  assert.deepEqual(shownOf(items, {}, same), { data: items, next: null })
  assert.deepEqual(shownOf(items, { limit: 5 }, same), { data: items, next: null })
  assert.deepEqual(shownOf([], { limit: 1 }, same), { data: [], next: null })
  const first = shownOf(items, { limit: 2 }, same)
  assert.deepEqual(first.data, ['a', 'b'])
  const cursor = first.next ?? ''
  assert.deepEqual(shownOf(items, { limit: 2, cursor }, same).data, ['c', 'd'])
  assert.deepEqual(shownOf(items, { cursor }, same), { data: ['c', 'd', 'e'], next: null })
  // The last one shown is gone, or one before it.
  assert.deepEqual(shownOf(['a', 'c', 'd', 'e'], { limit: 2, cursor }, same).data, ['c', 'd'])
  assert.deepEqual(shownOf(['b', 'c', 'd', 'e'], { limit: 2, cursor }, same).data, ['c', 'd'])
  assert.throws(() => shownOf(items, { cursor: 'bm90IG91cnM' }, same), /cursor/)
})

test('every list of the contract takes `limit`, and no limit that is none', async (t) => {
  const office = await openOffice(t)
  for (const path of ['/models', '/tiers', '/upstreams', '/providers', '/reference-models', '/channels']) {
    assert.equal((await office.call('GET', `${path}?limit=1`)).status, 200, path)
    for (const limit of ['0', '-1', '1.5', 'all', '1001']) {
      assert.equal((await office.call('GET', `${path}?limit=${limit}`)).status, 400, `${path} ${limit}`)
    }
  }
  const page = (await office.call('GET', '/tiers?limit=2')).body as { data: unknown[]; next: string }
  assert.equal(page.data.length, 2)
  const rest = (await office.call('GET', `/tiers?limit=2&cursor=${page.next}`)).body
  assert.partialDeepStrictEqual(rest, { data: [{ name: 'standard' }], next: null })
})
