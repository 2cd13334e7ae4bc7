import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startAdminServer } from '../admin/admin-server.fixture.ts'
import { paginate } from './pagination.ts'

const same = (name: string): string => name

describe('pagination of short lists', () => {
  test('paginate – returns all items or pages, each item once, even while the list shrinks', () => {
    const items = ['a', 'b', 'c', 'd', 'e']
    assert.deepEqual(paginate(items, {}, same), { data: items, next: null })
    assert.deepEqual(paginate(items, { limit: 5 }, same), { data: items, next: null })
    assert.deepEqual(paginate([], { limit: 1 }, same), { data: [], next: null })
    const first = paginate(items, { limit: 2 }, same)
    assert.deepEqual(first.data, ['a', 'b'])
    const cursor = first.next ?? ''
    assert.deepEqual(paginate(items, { limit: 2, cursor }, same).data, ['c', 'd'])
    assert.deepEqual(paginate(items, { cursor }, same), { data: ['c', 'd', 'e'], next: null })
    // The last item returned was deleted, or one before it.
    assert.deepEqual(paginate(['a', 'c', 'd', 'e'], { limit: 2, cursor }, same).data, ['c', 'd'])
    assert.deepEqual(paginate(['b', 'c', 'd', 'e'], { limit: 2, cursor }, same).data, ['c', 'd'])
    assert.throws(() => paginate(items, { cursor: 'bm90IG91cnM' }, same), /cursor/)
  })

  test('every short list – accepts a valid `limit` and rejects an invalid one', async (t) => {
    const adminServer = await startAdminServer(t)
    for (const path of ['/models', '/tiers', '/upstreams', '/providers', '/reference-models', '/channels']) {
      assert.equal((await adminServer.call('GET', `${path}?limit=1`)).status, 200, path)
      for (const limit of ['0', '-1', '1.5', 'all', '1001']) {
        assert.equal(
          (await adminServer.call('GET', `${path}?limit=${limit}`)).status,
          400,
          `${path} ${limit}`,
        )
      }
    }
    const page = (await adminServer.call('GET', '/tiers?limit=2')).body as { data: unknown[]; next: string }
    assert.equal(page.data.length, 2)
    const rest = (await adminServer.call('GET', `/tiers?limit=2&cursor=${page.next}`)).body
    assert.partialDeepStrictEqual(rest, { data: [{ name: 'standard' }], next: null })
  })
})
