import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLedgerCommit, createRequestRow, openAnyStore } from '../db/store.fixture.ts'
import { ApiError } from '../errors.ts'
import { listRequestRows, type RequestRowFilter } from './request-pages.ts'
import { callersModelServed, findRequest, requestRecord } from './request-records.ts'

describe('request records', () => {
  test('a record – has exactly the fields of the admin API', async (t) => {
    const store = await openAnyStore(t)
    const attempts = [
      { upstream: 'ups_one', outcome: 'ok', http_status: 200, duration_ms: 10, cost: '0.0001' },
    ]
    const row = createRequestRow('req_one', {
      at: Date.UTC(2026, 10, 21, 8),
      upstream_id: 'ups_one',
      stream: 1,
      attempts: JSON.stringify(attempts),
      first_token_ms: 7,
      model_served: 'upstream-model',
      provider_response_id: 'chatcmpl-1',
      fingerprint: 'fp_1',
    })
    await store.commit(createLedgerCommit(1, { requests: [row] }))
    const stored = await findRequest(store.db, 'req_one')
    assert.ok(stored)
    assert.deepEqual(requestRecord(stored, 'CNY'), {
      request_id: 'req_one',
      time: '2026-11-21T08:00:00.000Z',
      account: 'acc_one',
      key: 'key_one',
      model: 'family-a-small',
      upstream: 'ups_one',
      http_status: 200,
      outcome: 'ok',
      stream: true,
      finish: 'stop',
      prompt_tokens: 100,
      cached_tokens: 0,
      completion_tokens: 10,
      reasoning_tokens: 0,
      usage_source: 'provider',
      clamped: false,
      usage_clamped: false,
      searches: 0,
      cost: '0.00022',
      currency: 'CNY',
      first_token_ms: 7,
      duration_ms: 12,
      error_code: null,
      service_tier: 'default',
      units: {},
      model_served: 'upstream-model',
      provider_response_id: 'chatcmpl-1',
      fingerprint: 'fp_1',
      operation: 'chat',
      count: 1,
      attempts,
    })
    assert.equal(await findRequest(store.db, 'req_two'), undefined)
  })

  test('the model served – is shown to a caller whose response named it, or who sent it', () => {
    const attempt = { upstream: 'ups_one', outcome: 'ok', http_status: 200, duration_ms: 1, cost: null }
    const modelServed = (served: string | null, ...attempts: object[]): string | null =>
      callersModelServed({ model: 'm', model_served: served, attempts: JSON.stringify(attempts) })
    assert.equal(modelServed('m-2026', { ...attempt, model_exposed: true }), 'm-2026')
    assert.equal(modelServed('m', attempt), 'm')
    assert.equal(modelServed('m-2026', attempt), null)
    assert.equal(modelServed('m-2026', { ...attempt, model_exposed: true }, attempt), null)
    assert.equal(modelServed(null, { ...attempt, model_exposed: true }), null)
    assert.equal(modelServed('m-2026'), null)
  })

  test('pages – return all requests newest first, none twice, also with equal times', async (t) => {
    const store = await openAnyStore(t)
    const rows = Array.from({ length: 25 }, (_, index) =>
      createRequestRow(`req_${index}`, { at: 1000 - (index % 3) }),
    )
    await store.commit(createLedgerCommit(1, { requests: rows }))
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await listRequestRows(store.db, {}, { limit: 4, cursor })
      seen.push(...page.rows.map((record) => record.request_id))
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    assert.equal(seen.length, 25)
    assert.equal(new Set(seen).size, 25)
    assert.deepEqual(seen.slice(0, 2), ['req_24', 'req_21'])
  })

  test('filters – narrow the result; from is inclusive, to is exclusive', async (t) => {
    const store = await openAnyStore(t)
    const rows = [
      createRequestRow('req_0', { at: 10, operation: 'embeddings' }),
      createRequestRow('req_1', { at: 20, account_id: 'acc_two', key_id: 'key_two' }),
      createRequestRow('req_2', { at: 30, model: 'other', outcome: 'failed' }),
    ]
    await store.commit(createLedgerCommit(1, { requests: rows }))
    const found = async (filter: RequestRowFilter): Promise<string[]> =>
      (await listRequestRows(store.db, filter, { limit: 10 })).rows.map((record) => record.request_id)
    assert.deepEqual(await found({ account: 'acc_two' }), ['req_1'])
    assert.deepEqual(await found({ key: 'key_one' }), ['req_2', 'req_0'])
    assert.deepEqual(await found({ model: 'other' }), ['req_2'])
    assert.deepEqual(await found({ outcome: 'failed', account: 'acc_one' }), ['req_2'])
    assert.deepEqual(await found({ operation: 'embeddings', account: 'acc_one' }), ['req_0'])
    assert.deepEqual(await found({ operation: 'embeddings', requestId: 'req_1' }), [])
    assert.deepEqual(await found({ requestId: 'req_0' }), ['req_0'])
    assert.deepEqual(await found({ from: 20, to: 30 }), ['req_1'])
    assert.deepEqual(await found({ account: 'acc_none' }), [])
  })

  test('a page – scans at most 20,000 rows for any filters and leads on', async (t) => {
    const { db } = await openAnyStore(t)
    await db.write({
      sql: `with recursive counter (n) as (select 1 union all select n + 1 from counter where n < 20010)
      insert into requests (request_id, at, account_id, key_id, model, http_status, outcome, stream, prompt_tokens, cached_tokens,
        completion_tokens, reasoning_tokens, cost_nanos, duration_ms, attempts, hold_nanos)
      select 'req_' || n, n, 'acc', case when n < 3 then 'key_old' else 'key' end, case when n < 4 then 'old' else 'm' end, 200,
        case when n = 1 then 'truncated' else 'ok' end, 0, 1, 0, 1, 0, 0, 1, '[]', 0 from counter`,
      parameters: [],
    })
    const pagesOf = async (filter: RequestRowFilter): Promise<string[][]> => {
      const pages: string[][] = []
      let cursor: string | undefined
      do {
        const page = await listRequestRows(db, filter, { limit: 10, ...(cursor && { cursor }) })
        pages.push(page.rows.map((record) => record.request_id))
        cursor = page.next ?? undefined
      } while (cursor !== undefined)
      return pages
    }
    assert.deepEqual(await pagesOf({ outcome: 'truncated' }), [[], ['req_1']])
    assert.deepEqual(await pagesOf({ outcome: 'truncated', account: 'acc' }), [['req_1']])
    assert.deepEqual(await pagesOf({ account: 'acc', model: 'old' }), [[], ['req_3', 'req_2', 'req_1']])
    assert.deepEqual(await pagesOf({ account: 'acc', key: 'key_old' }), [['req_2', 'req_1']])
    assert.deepEqual(await pagesOf({ account: 'other', key: 'key_old' }), [[]])
    assert.deepEqual(await pagesOf({ model: 'old', requestId: 'req_2', from: 3 }), [[]])
  })

  test('a cursor of another list – is rejected', async (t) => {
    const { db } = await openAnyStore(t)
    await assert.rejects(listRequestRows(db, {}, { limit: 1, cursor: 'x' }), (error) => {
      return error instanceof ApiError && error.status === 400 && error.detail.param === 'cursor'
    })
  })
})
