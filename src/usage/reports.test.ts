import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import fc from 'fast-check'
import { createLedgerCommit, createRequestRow, type TestStore } from '../db/store.fixture.ts'
import type { RequestRow } from '../db/ledger-commit.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { trafficBy, usageBetween, usageBy, usageByDay, type UsageFilter } from './reports.ts'
import { openRolledUpStore } from './rollups/rolled-up-store.fixture.ts'
import { listRequestRows } from './request-pages.ts'
import { countFailures, countRequestsSince } from './traffic.ts'
import { keysUsedInHour, findSpendAnomalies } from './spend-anomalies.ts'
import { loadTrafficFlows } from './traffic-flows.ts'
import { waitUntil } from '../../test/support/wait.ts'

const hourMs = 3_600_000
const outcomes = ['ok', 'refused', 'failed', 'truncated', 'aborted', 'ended'] as const

/** Rows over two days, with several accounts, keys and models, costs beyond the precision of a double, and rejections that share a row. */
function rowsOf(first: number, count: number): RequestRow[] {
  return Array.from({ length: count }, (_, index) => {
    const number = first + index
    const outcome = outcomes[number % outcomes.length] ?? 'ok'
    return createRequestRow(`req_${number}`, {
      at: (number * 7_919_017) % (48 * hourMs),
      account_id: `acc_${number % 3}`,
      key_id: `key_${number % 5}`,
      model: `model-${number % 2}`,
      outcome,
      count: outcome === 'refused' ? 1 + (number % 7) : 1,
      prompt_tokens: number,
      completion_tokens: number % 11,
      cost_nanos: 9_007_199_254_740_993n + BigInt(number),
      upstream_cost_nanos: number % 4 === 0 ? null : BigInt(number),
    })
  })
}

async function waitForRollup(db: Db, rows: number): Promise<void> {
  const cursor = sql.selectFrom('cursors').select('position').where('name', '=', 'usage_hourly')
  await waitUntil(async () => ((await db.first(cursor))?.position ?? 0) >= rows, 'the roll-up')
}

async function waitForBackfill(db: Db): Promise<void> {
  const unfilled = sql.selectFrom('traffic_hourly').select('hour').where('prompt_tokens', 'is', null).limit(1)
  await waitUntil(async () => (await db.first(unfilled)) === undefined, 'the backfill')
}

/**
 * A store whose first rows are rolled up and whose last rows are not. One of the models exists, the other
 * does not.
 */
async function storeWith(t: TestContext): Promise<{ store: TestStore; rows: RequestRow[] }> {
  const store = await openRolledUpStore(t)
  await store.db.write({
    sql: `insert into models (id, context_tokens, hidden_reasoning, owned_by, listed, created_at, updated_at)
      values ('model-1', 1000, 0, 'x', 1, 0, 0)`,
    parameters: [],
  })
  const [old, fresh] = [rowsOf(0, 300), rowsOf(300, 100)]
  await store.commit(createLedgerCommit(1, { requests: old }))
  await waitForRollup(store.db, old.length)
  await store.commit(createLedgerCommit(2, { requests: fresh }))
  return { store, rows: [...old, ...fresh] }
}

function matches(row: RequestRow, filter: UsageFilter): boolean {
  const { account = row.account_id, key = row.key_id, model = row.model, from = 0, to = Infinity } = filter
  if (row.account_id !== account || row.key_id !== key || row.model !== model) return false
  return row.at >= from && row.at < to
}

function sumOf(rows: readonly RequestRow[]) {
  return {
    requests: rows.reduce((sum, row) => sum + row.count, 0),
    errors: rows
      .filter((row) => ['refused', 'failed', 'truncated', 'ended'].includes(row.outcome))
      .reduce((sum, row) => sum + row.count, 0),
    promptTokens: rows.reduce((sum, row) => sum + row.prompt_tokens, 0),
    completionTokens: rows.reduce((sum, row) => sum + row.completion_tokens, 0),
    costNanos: rows.reduce((sum, row) => sum + row.cost_nanos, 0n),
    upstreamCostNanos: rows.reduce((sum, row) => sum + (row.upstream_cost_nanos ?? 0n), 0n),
    requestsWithoutCost: rows
      .filter((row) => row.upstream_cost_nanos === null)
      .reduce((sum, row) => sum + row.count, 0),
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

describe('usage reports', () => {
  test('usageBy – equals the sum over the requests to the nano, rolled up or not', async (t) => {
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
    // As after an upgrade: token counts are filled in gradually.
    await store.db.write({
      sql: 'update traffic_hourly set prompt_tokens = null, completion_tokens = null where hour % 3 > 0',
      parameters: [],
    })
    await waitForRollup(store.db, rows.length)
    await fc.assert(property, { numRuns: 20 })
    await waitForBackfill(store.db)
    await fc.assert(property, { numRuns: 20 })
  })

  test('usageBy – hours or one model of all accounts are read from the global roll-up', async (t) => {
    const { store, rows } = await storeWith(t)
    await waitForRollup(store.db, rows.length)
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

  test('sums beyond 64 bits – are exact', async (t) => {
    const store = await openRolledUpStore(t)
    const dearest = 10n ** 16n
    const costs = { cost_nanos: dearest, upstream_cost_nanos: dearest }
    const rows = Array.from({ length: 2800 }, (_, index) => {
      // A thousand of one key in one hour, the others spread over many.
      const key = index < 1000 ? 'key_mad' : `key_${index % 9}`
      return createRequestRow(`req_${index}`, {
        ...costs,
        key_id: key,
        at: index < 1000 ? 0 : (index % 48) * hourMs,
      })
    })
    await store.commit(createLedgerCommit(1, { requests: rows }))
    await waitForRollup(store.db, rows.length)
    const [all] = await usageBy(store.db, 'model', {})
    const most = 9n * 10n ** 18n
    const expected = most + 1800n * dearest
    assert.deepEqual([all?.requests, all?.costNanos, all?.upstreamCostNanos], [2800, expected, expected])
    const keys = await usageBy(store.db, 'key', {})
    assert.deepEqual([keys[0]?.name, keys[0]?.costNanos], ['key_mad', most])
    assert.equal((await usageBetween(store.db, 'acc_one')).costNanos, expected)
    const span = { from: 0, to: 48 * hourMs }
    const hours = await trafficBy(store.db, 'hour', span)
    const second = sumOf(rows.filter(({ at }) => at === hourMs)).costNanos
    assert.deepEqual([hours[0]?.costNanos, hours[1]?.upstreamCostNanos], [most, second])
    const [model] = await trafficBy(store.db, 'model', span)
    assert.equal(model?.costNanos, most + sumOf(rows.filter(({ at }) => at > 0)).costNanos)
    assert.deepEqual((await keysUsedInHour(store.db, 0, 1))[0], 'key_mad')
    assert.ok(await findSpendAnomalies(store.db, ['key_mad', 'key_1'], 40 * hourMs))
    const { flows } = await loadTrafficFlows(store.db, { ...span, isModel: () => true })
    assert.equal(flows.find(({ key }) => key === 'key_mad')?.costNanos, 1000n * dearest)
  })

  test('groups by key and account – are sorted by cost, paginated without duplicates', async (t) => {
    const { store, rows } = await storeWith(t)
    const all = await usageBy(store.db, 'key', {})
    const costs = all.map((group) => group.costNanos)
    assert.deepEqual(
      costs,
      costs.toSorted((left, right) => (left > right ? -1 : 1)),
    )
    const pages = await Promise.all(
      [0, 2, 4].map((offset) => usageBy(store.db, 'key', {}, { limit: 2, offset })),
    )
    assert.deepEqual(pages.flat(), all)
    const accounts = await usageBy(store.db, 'account', {})
    assert.equal(
      accounts.reduce((sum, group) => sum + group.requests, 0),
      sumOf(rows).requests,
    )
  })

  test('traffic – counts every rejected request of a row', async (t) => {
    const store = await openRolledUpStore(t)
    const rejected = { outcome: 'refused', http_status: 429, cost_nanos: 0n, at: 10 } as const
    const rows = [
      createRequestRow('req_1', { ...rejected, count: 7940 }),
      createRequestRow('req_2', rejected),
      createRequestRow('req_3', { at: 20 }),
    ]
    await store.commit(createLedgerCommit(1, { requests: rows }))
    const flow = await loadTrafficFlows(store.db, { from: 0, to: hourMs, isModel: () => true })
    assert.deepEqual([flow.requests, flow.isComplete, flow.from], [7942, true, 0])
    assert.deepEqual([flow.flows[0]?.requests, flow.flows[0]?.failures], [7942, 7941])
    assert.equal(await countRequestsSince(store.db, 10), 7942)
    assert.equal(await countRequestsSince(store.db, 21), 0)
  })

  test('failed requests – are the same number in every report of the same hours', async (t) => {
    const { store, rows } = await storeWith(t)
    await waitForRollup(store.db, rows.length)
    for (const span of [
      { from: 0, to: 48 * hourMs },
      { from: 7 * hourMs, to: 8 * hourMs },
    ]) {
      const within = rows.filter(({ at }) => at >= span.from && at < span.to)
      const { requests, errors } = sumOf(within)
      const expected = { requests, errors }
      const sum = (groups: readonly { requests: number; errors: number }[]) => ({
        requests: groups.reduce((total, each) => total + each.requests, 0),
        errors: groups.reduce((total, each) => total + each.errors, 0),
      })
      for (const grouping of ['hour', 'model', 'key', 'account'] as const)
        assert.deepEqual(sum(await usageBy(store.db, grouping, span)), expected, grouping)
      for (const grouping of ['hour', 'model'] as const)
        assert.deepEqual(sum(await trafficBy(store.db, grouping, span)), expected, grouping)
      const { flows } = await loadTrafficFlows(store.db, { ...span, isModel: () => true })
      assert.deepEqual(sum(flows.map(({ failures, ...flow }) => ({ ...flow, errors: failures }))), expected)
      assert.equal(await countFailures(store.db, span), errors)
      const listed = await listRequestRows(store.db, { ...span, errors: true }, { limit: 1000 })
      assert.equal(
        listed.rows.reduce((total, row) => total + row.count, 0),
        errors,
      )
    }
  })

  test('requests without cost – are counted, and known from the sums in hours of earlier releases', async (t) => {
    const store = await openRolledUpStore(t)
    const insert = async (number: number, rows: Parameters<typeof createRequestRow>[1][]): Promise<void> => {
      const requests = rows.map((row, index) =>
        createRequestRow(`req_${number}_${index}`, { at: 0, model: 'm', key_id: `key_${index}`, ...row }),
      )
      await store.commit(createLedgerCommit(number, { requests }))
      await waitForRollup(store.db, 3 * number)
    }
    const rows = [{ upstream_cost_nanos: 3n }, {}, { cost_nanos: 0n, prompt_tokens: 0, completion_tokens: 0 }]
    const countByKey = async (): Promise<unknown[]> =>
      (await usageBy(store.db, 'key', {}))
        .toSorted((left, right) => (left.name < right.name ? -1 : 1))
        .map((sums) => sums.requestsWithoutCost)
    const traffic = async () => trafficBy(store.db, 'hour', { from: 0, to: hourMs })
    await insert(1, rows)
    assert.deepEqual(await countByKey(), [0, 1, 0])
    assert.equal((await traffic())[0]?.requestsWithoutCost, 1)
    for (const table of ['usage_hourly', 'traffic_hourly'])
      await store.db.write({ sql: `update ${table} set unpriced_requests = null`, parameters: [] })
    assert.deepEqual(await countByKey(), [0, 1, 0])
    assert.equal((await traffic())[0]?.requestsWithoutCost, 0)
    await insert(2, rows)
    assert.deepEqual(await countByKey(), [0, 2, 0])
    assert.equal((await traffic())[0]?.requestsWithoutCost, 1)
  })

  test('usageByDay – groups by calendar day and adds up its hours', async (t) => {
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

  test('usageBetween – is exact between two instants, and zero without requests', async (t) => {
    const { store, rows } = await storeWith(t)
    const [from, to] = [5 * hourMs + 17, 31 * hourMs + 4242]
    const own = rows.filter((row) => matches(row, { account: 'acc_1', from, to }))
    assert.deepEqual(await usageBetween(store.db, 'acc_1', from, to), sumOf(own))
    assert.deepEqual(await usageBetween(store.db, 'acc_none'), sumOf([]))
    assert.deepEqual(await usageBetween(store.db, 'acc_1', to, from), sumOf([]))
  })
})
