/** How SQLite goes about the list of keys. With 100,000 of them a page that sorts or reads all takes a hundred times as long. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Db, Query } from '../db/db.ts'
import { statementOf } from '../db/db.ts'
import { temporaryDb } from '../db/store.fixture.ts'
import { keyOrders, pageOfKeys, type KeyFilter, type KeyOrder } from './key-list.ts'

type PlanOf = (filter: KeyFilter, order: KeyOrder, cursor?: string) => Promise<string[]>

/** The plans of the statements that a page asks, one line for each. */
async function planner(t: TestContext): Promise<PlanOf> {
  const db = await temporaryDb(t)
  return async (filter, order, cursor) => {
    const plans: string[] = []
    const overheard: Db = {
      ...db,
      async report<Result>(query: Query<Result>) {
        const { sql, parameters } = statementOf(query)
        const steps = await db.all<{ detail: string }>({ sql: `explain query plan ${sql}`, parameters })
        plans.push(steps.map(({ detail }) => detail).join(', '))
        return db.report(query)
      },
    }
    await pageOfKeys(overheard, filter, { order, limit: 50, cursor, now: 1 })
    return plans
  }
}

test('no page of the list of keys sorts what it does not show', async (t) => {
  const plansOf = await planner(t)
  const places = { newest: 'key_1', oldest: 'key_1', last_used: '5', longest_unused: '5', name: 'a' }
  const filters = [{}, { state: 'active' }] as const
  for (const [order, filter] of keyOrders.flatMap((each) => filters.map((one) => [each, one] as const))) {
    for (const plan of await plansOf(filter, order)) assert.doesNotMatch(plan, /TEMP B-TREE/, order)
    for (const plan of await plansOf(filter, order, `${order} key_1 ${places[order]}`)) {
      assert.match(plan, /^SEARCH/, order)
      assert.doesNotMatch(plan, /TEMP B-TREE/, order)
    }
  }
})

test('what is looked for has an index, the part of a name that of the names', async (t) => {
  const plansOf = await planner(t)
  const searched = async (filter: KeyFilter): Promise<string> => (await plansOf(filter, 'newest'))[0] ?? ''
  assert.match(await searched({ sought: 'laptop' }), /SEARCH keys USING INDEX keys_by_name/)
  assert.match(await searched({ sought: 'laptop' }), /SEARCH keys USING INDEX keys_by_account/)
  assert.match(await searched({ sought: 'sk-slu-abcd' }), /keys_by_prefix/)
  assert.match(await searched({ state: 'disabled' }), /keys_disabled/)
  assert.match(await searched({ state: 'expired' }), /keys_by_expiry/)
  assert.match(await searched({ accountId: 'acc_1' }), /keys_by_account/)
})
