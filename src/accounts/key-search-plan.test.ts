/**
 * How SQLite executes key searches. With 100,000 keys, a page that sorts or reads all of them takes a hundred
 * times as long.
 */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Db, Query } from '../db/db.ts'
import { compileQuery } from '../db/db.ts'
import { openTemporaryDb } from '../db/store.fixture.ts'
import { keyOrders, searchKeys, type KeyFilter, type KeyOrder } from './key-search.ts'

type PlanOf = (filter: KeyFilter, order: KeyOrder, cursor?: string) => Promise<string[]>

/** The query plans of a page's statements, one line each. */
async function queryPlanner(t: TestContext): Promise<PlanOf> {
  const db = await openTemporaryDb(t)
  return async (filter, order, cursor) => {
    const plans: string[] = []
    const explainingDb: Db = {
      ...db,
      async report<Result>(query: Query<Result>) {
        const { sql, parameters } = compileQuery(query)
        const steps = await db.all<{ detail: string }>({ sql: `explain query plan ${sql}`, parameters })
        plans.push(steps.map(({ detail }) => detail).join(', '))
        return db.report(query)
      },
    }
    await searchKeys(explainingDb, filter, { order, limit: 50, cursor, now: 1 })
    return plans
  }
}

describe('query plans of searchKeys', () => {
  test('every order – reads its index without sorting', async (t) => {
    const plansOf = await queryPlanner(t)
    const positions = { newest: 'key_1', oldest: 'key_1', last_used: '5', longest_unused: '5', name: 'a' }
    const filters = [{}, { state: 'active' }] as const
    for (const [order, filter] of keyOrders.flatMap((each) => filters.map((one) => [each, one] as const))) {
      for (const plan of await plansOf(filter, order)) assert.doesNotMatch(plan, /TEMP B-TREE/, order)
      for (const plan of await plansOf(filter, order, `${order} key_1 ${positions[order]}`)) {
        assert.match(plan, /^SEARCH/, order)
        assert.doesNotMatch(plan, /TEMP B-TREE/, order)
      }
    }
  })

  test('every search – uses an index, a part of a name that of the names', async (t) => {
    const plansOf = await queryPlanner(t)
    const searched = async (filter: KeyFilter): Promise<string> => (await plansOf(filter, 'newest'))[0] ?? ''
    assert.match(await searched({ search: 'laptop' }), /SEARCH keys USING INDEX keys_by_name/)
    assert.match(await searched({ search: 'laptop' }), /SEARCH keys USING INDEX keys_by_account/)
    assert.match(await searched({ search: 'sk-slu-abcd' }), /keys_by_prefix/)
    assert.match(await searched({ state: 'disabled' }), /keys_disabled/)
    assert.match(await searched({ state: 'expired' }), /keys_by_expiry/)
    assert.match(await searched({ accountId: 'acc_1' }), /keys_by_account/)
  })
})
