import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import fc from 'fast-check'
import { anyStore, ledgerCommit, requestRow, type TestStore } from '../db/store.fixture.ts'
import type { RequestRow } from '../db/messages.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { usageBetween, usageBy, usageByDay, type UsageFilter } from './reports.ts'
import { takingsBy } from './traffic.ts'
import { keysUsedIn, unusualHours } from './spend-anomalies.ts'
import { waysTaken } from './traffic-flows.ts'

const hourMs = 3_600_000
const outcomes = ['ok', 'refused', 'failed', 'truncated', 'aborted', 'ended'] as const

/** Rows over two days, several accounts, keys and models; costs beyond what a double can hold. */
function rowsOf(first: number, count: number): RequestRow[] {
  return Array.from({ length: count }, (_, index) => {
    const number = first + index
    return requestRow(`req_${number}`, {
      at: (number * 7_919_017) % (48 * hourMs),
      account_id: `acc_${number % 3}`,
      key_id: `key_${number % 5}`,
      model: `model-${number % 2}`,
      outcome: outcomes[number % outcomes.length] ?? 'ok',
      prompt_tokens: number,
      completion_tokens: number % 11,
      cost_nanos: 9_007_199_254_740_993n + BigInt(number),
      upstream_cost_nanos: number % 4 === 0 ? null : BigInt(number),
    })
  })
}

async function rolledUp(db: Db, rows: number): Promise<void> {
  const cursor = sql.selectFrom('cursors').select('position').where('name', '=', 'usage_hourly')
  while (((await db.first(cursor))?.position ?? 0) < rows) await new Promise(setImmediate)
}

async function filledIn(db: Db): Promise<void> {
  const unfilled = sql.selectFrom('traffic_hourly').select('hour').where('prompt_tokens', 'is', null).limit(1)
  while ((await db.first(unfilled)) !== undefined) await new Promise(setImmediate)
}

/** A store whose first rows are rolled up, and whose last are not yet. One of the models is known, one is invented. */
async function storeWith(t: TestContext): Promise<{ store: TestStore; rows: RequestRow[] }> {
  const store = await anyStore(t)
  await store.db.write({
    sql: `insert into models (id, context_tokens, hidden_reasoning, owned_by, listed, created_at, updated_at)
      values ('model-1', 1000, 0, 'x', 1, 0, 0)`,
    parameters: [],
  })
  const [old, fresh] = [rowsOf(0, 300), rowsOf(300, 100)]
  await store.commit(ledgerCommit(1, { requests: old }))
  await rolledUp(store.db, old.length)
  await store.commit(ledgerCommit(2, { requests: fresh }))
  return { store, rows: [...old, ...fresh] }
}

function matches(row: RequestRow, filter: UsageFilter): boolean {
  const { account = row.account_id, key = row.key_id, model = row.model, from = 0, to = Infinity } = filter
  if (row.account_id !== account || row.key_id !== key || row.model !== model) return false
  return row.at >= from && row.at < to
}

function sumOf(rows: readonly RequestRow[]) {
  return {
    requests: rows.length,
    errors: rows.filter((row) => ['refused', 'failed', 'truncated'].includes(row.outcome)).length,
    promptTokens: rows.reduce((sum, row) => sum + row.prompt_tokens, 0),
    completionTokens: rows.reduce((sum, row) => sum + row.completion_tokens, 0),
    costNanos: rows.reduce((sum, row) => sum + row.cost_nanos, 0n),
    upstreamCostNanos: rows.reduce((sum, row) => sum + (row.upstream_cost_nanos ?? 0n), 0n),
  }
}

const moment = fc.option(fc.integer({ min: 0, max: 50 * hourMs }), { nil: undefined })
const filters = fc.record({
  account: fc.constantFrom(undefined, 'acc_0', 'acc_1', 'acc_none'),
  key: fc.constantFrom(undefined, 'key_0', 'key_3'),
  model: fc.constantFrom(undefined, 'model-1', 'model-0'),
  from: moment,
  to: moment,
})

test('a report equals the sum over its requests to the nano, whatever it filters and cuts, rolled up or not', async (t) => {
  const { store, rows } = await storeWith(t)
  const property = fc.asyncProperty(filters, async (filter) => {
    const wanted = rows.filter((row) => matches(row, filter))
    const keyOf = {
      hour: (row: RequestRow) => String(row.at - (row.at % hourMs)),
      model: (row: RequestRow) => row.model,
    }
    for (const grouping of ['hour', 'model'] as const) {
      const expected = Map.groupBy(wanted, keyOf[grouping])
      const groups = await usageBy(store.db, grouping, filter)
      assert.equal(groups.length, expected.size)
      for (const { name, ...sums } of groups) assert.deepEqual(sums, sumOf(expected.get(name) ?? []))
    }
  })
  await fc.assert(property, { numRuns: 40 })
  // As an upgrade leaves it; its tokens come by and by.
  await store.db.write({
    sql: 'update traffic_hourly set prompt_tokens = null, completion_tokens = null where hour % 3 > 0',
    parameters: [],
  })
  await rolledUp(store.db, rows.length)
  await fc.assert(property, { numRuns: 20 })
  await filledIn(store.db)
  await fc.assert(property, { numRuns: 20 })
})

test('what all did by the hour, or did with a model, is read without the sums of every account', async (t) => {
  const { store, rows } = await storeWith(t)
  await rolledUp(store.db, rows.length)
  await store.db.write({ sql: 'delete from usage_hourly', parameters: [] })
  const hours = await usageBy(store.db, 'hour', {})
  assert.equal(
    hours.reduce((sum, hour) => sum + hour.promptTokens, 0),
    sumOf(rows).promptTokens,
  )
  const own = rows.filter(({ model }) => model === 'model-1')
  assert.deepEqual(await usageBy(store.db, 'model', { model: 'model-1' }), [
    { name: 'model-1', ...sumOf(own) },
  ])
})

test('no amounts make a report fail: sums beyond 64 bits are exact, up to nine thousand million for an hour of one key', async (t) => {
  const store = await anyStore(t)
  const dearest = 10n ** 16n
  const costs = { cost_nanos: dearest, upstream_cost_nanos: dearest }
  const rows = Array.from({ length: 2800 }, (_, index) => {
    // A thousand of one key in one hour, the others of many.
    const key = index < 1000 ? 'key_mad' : `key_${index % 9}`
    return requestRow(`req_${index}`, { ...costs, key_id: key, at: index < 1000 ? 0 : (index % 48) * hourMs })
  })
  await store.commit(ledgerCommit(1, { requests: rows }))
  await rolledUp(store.db, rows.length)
  const [all] = await usageBy(store.db, 'model', {})
  const most = 9n * 10n ** 18n
  const expected = most + 1800n * dearest
  assert.deepEqual([all?.requests, all?.costNanos, all?.upstreamCostNanos], [2800, expected, expected])
  const keys = await usageBy(store.db, 'key', {})
  assert.deepEqual([keys[0]?.name, keys[0]?.costNanos], ['key_mad', most])
  assert.equal((await usageBetween(store.db, 'acc_one')).costNanos, expected)
  const span = { from: 0, to: 48 * hourMs }
  const hours = await takingsBy(store.db, 'hour', span)
  const second = sumOf(rows.filter(({ at }) => at === hourMs)).costNanos
  assert.deepEqual([hours[0]?.revenueNanos, hours[1]?.upstreamCostNanos], [most, second])
  const [model] = await takingsBy(store.db, 'model', span)
  assert.equal(model?.revenueNanos, most + sumOf(rows.filter(({ at }) => at > 0)).costNanos)
  assert.deepEqual((await keysUsedIn(store.db, 0, 1))[0], 'key_mad')
  assert.ok(await unusualHours(store.db, ['key_mad', 'key_1'], 40 * hourMs))
  const { ways } = await waysTaken(store.db, { ...span, isModel: () => true })
  assert.equal(ways.find(({ key }) => key === 'key_mad')?.costNanos, 1000n * dearest)
})

test('groups by key and account come dearest first, page by page, and none twice', async (t) => {
  const { store, rows } = await storeWith(t)
  const whole = await usageBy(store.db, 'key', {})
  const costs = whole.map((group) => group.costNanos)
  assert.deepEqual(
    costs,
    costs.toSorted((left, right) => (left > right ? -1 : 1)),
  )
  const pages = await Promise.all(
    [0, 2, 4].map((offset) => usageBy(store.db, 'key', {}, { limit: 2, offset })),
  )
  assert.deepEqual(pages.flat(), whole)
  const accounts = await usageBy(store.db, 'account', {})
  assert.equal(
    accounts.reduce((sum, group) => sum + group.requests, 0),
    rows.length,
  )
})

test('days are those of a calendar, and add up to their hours', async (t) => {
  const { store, rows } = await storeWith(t)
  const shanghai = (at: number): string => new Date(at + 8 * hourMs).toISOString().slice(0, 10)
  const days = await usageByDay(store.db, {}, shanghai)
  const expected = Map.groupBy(rows, (row) => shanghai(row.at))
  assert.deepEqual(
    days.map((day) => day.name),
    [...expected.keys()].toSorted(),
  )
  for (const { name, ...sums } of days) assert.deepEqual(sums, sumOf(expected.get(name) ?? []))
})

test('what an account used between two moments is exact, and nothing when there was nothing', async (t) => {
  const { store, rows } = await storeWith(t)
  const [from, to] = [5 * hourMs + 17, 31 * hourMs + 4242]
  const own = rows.filter((row) => matches(row, { account: 'acc_1', from, to }))
  assert.deepEqual(await usageBetween(store.db, 'acc_1', from, to), sumOf(own))
  assert.deepEqual(await usageBetween(store.db, 'acc_none'), sumOf([]))
  assert.deepEqual(await usageBetween(store.db, 'acc_1', to, from), sumOf([]))
})
