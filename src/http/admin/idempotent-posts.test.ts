import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Hono } from 'hono'
import type { Db } from '../../db/db.ts'
import { claimCallStatement } from '../../db/idempotent-calls.ts'
import { storedResponseTtlMs } from '../../db/retention/stored-responses.ts'
import { sql } from '../../db/schema/schema.ts'
import { createClaim } from '../../relay/idempotency.ts'
import { startAdminServer, type AdminServer, type TestResponse } from './admin-server.fixture.ts'
import type { AdminEnv } from './admin-context.ts'
import { idempotentPosts } from './idempotent-posts.ts'

const vouchers = { amount: '1', count: 2 }

function create(adminServer: AdminServer, key: string, body: unknown = vouchers): Promise<TestResponse> {
  return adminServer.call('POST', '/vouchers', body, { 'idempotency-key': key })
}

async function countVouchers(adminServer: AdminServer): Promise<number> {
  return ((await adminServer.call('GET', '/vouchers')).body as { data: object[] }).data.length
}

function errorOf({ body }: TestResponse): { code: string; message: string; param: string | null } {
  return (body as { error: { code: string; message: string; param: string | null } }).error
}

function retryHeaders({ headers }: TestResponse): unknown[] {
  return [headers.get('retry-after'), headers.get('x-should-retry')]
}

/** Stores a claim as of a process that was killed before it could store the response. */
async function storeInterrupted({ ctx }: AdminServer, key: string, at: number): Promise<void> {
  const claim = createClaim(key, '/api/admin/vouchers', Buffer.from(JSON.stringify(vouchers)))
  const call = {
    administrator: 'admin-api',
    keyHash: claim.key,
    bodyHash: claim.body,
    requestId: 'req_1',
    at,
  }
  await ctx.db.write(claimCallStatement(call))
}

describe('Idempotency-Key in the admin API', () => {
  test('same key and body – returns the first response; it takes effect once', async (t) => {
    const adminServer = await startAdminServer(t)
    const first = await create(adminServer, 'same')
    const again = await create(adminServer, 'same')
    assert.equal(first.status, 201)
    assert.equal(first.headers.get('idempotent-replayed'), null)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    for (const name of ['x-request-id', 'content-type', 'cache-control'])
      assert.equal(again.headers.get(name), first.headers.get(name), name)
    assert.deepEqual([again.status, again.body], [first.status, first.body])
    assert.equal(await countVouchers(adminServer), 2)
    await create(adminServer, 'another')
    assert.equal(await countVouchers(adminServer), 4)
  })

  test('same key, other body or path – is rejected with 422', async (t) => {
    const adminServer = await startAdminServer(t)
    await create(adminServer, 'one')
    const headers = { 'idempotency-key': 'one' }
    for (const rejected of [
      await create(adminServer, 'one', { amount: '2', count: 2 }),
      await create(adminServer, 'one', `${JSON.stringify(vouchers)} `),
      await adminServer.call('POST', '/vouchers?again', vouchers, headers),
      await adminServer.call('POST', '/tiers', vouchers, headers),
    ])
      assert.deepEqual([rejected.status, errorOf(rejected).code], [422, 'idempotency_key_reused'])
    assert.equal(await countVouchers(adminServer), 2)
  })

  test('rejected call – frees its key; a call that failed otherwise keeps it', async (t) => {
    const adminServer = await startAdminServer(t)
    const invalid = await create(adminServer, 'rejected', { amount: '1', count: 0 })
    assert.deepEqual([invalid.status, errorOf(invalid).param], [400, 'count'])
    assert.equal((await create(adminServer, 'rejected')).status, 201)
    const headers = { 'idempotency-key': 'failed' }
    const failed = await adminServer.call('POST', '/nodes/any/retire', undefined, headers)
    assert.equal(failed.status, 500, 'the test server has no ledger')
    const repeated = await adminServer.call('POST', '/nodes/any/retire', undefined, headers)
    assert.deepEqual([repeated.status, errorOf(repeated).code], [409, 'idempotency_conflict'])
    assert.ok(errorOf(repeated).message.includes(failed.headers.get('x-request-id') ?? '?'))
    assert.deepEqual(retryHeaders(repeated), [null, 'false'])
  })

  test('interrupted call – is not executed again, and is named with its time', async (t) => {
    const adminServer = await startAdminServer(t)
    const at = Date.now() - 60_000
    await storeInterrupted(adminServer, 'crashed', at)
    const repeated = await create(adminServer, 'crashed')
    assert.deepEqual([repeated.status, ...retryHeaders(repeated)], [409, null, 'false'])
    const { message } = errorOf(repeated)
    assert.ok(message.includes('req_1') && message.includes(new Date(at).toISOString()), message)
    assert.equal((await create(adminServer, 'crashed', { amount: '2', count: 1 })).status, 422)
    assert.equal(await countVouchers(adminServer), 0)
  })

  test('call in progress – can be repeated for a minute', async (t) => {
    const adminServer = await startAdminServer(t)
    await storeInterrupted(adminServer, 'running', Date.now())
    const repeated = await create(adminServer, 'running')
    assert.deepEqual([repeated.status, ...retryHeaders(repeated)], [409, '1', null])
  })

  test('key that expires during a call – is claimed by it', async (t) => {
    const { ctx, ...rest } = await startAdminServer(t)
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    await storeInterrupted({ ctx, ...rest }, 'expiring', Date.now() - storedResponseTtlMs + 1)
    let writes = 0
    const db: Db = {
      ...ctx.db,
      async write(...queries) {
        assert.ok(++writes < 10, 'the call turns in circles')
        const results = await ctx.db.write(...queries)
        t.mock.timers.tick(1)
        return results
      },
    }
    const app = new Hono<AdminEnv>()
    app.use(async (c, next) => {
      c.set('caller', { by: 'admin-api', session: null })
      await next()
    })
    app.use(idempotentPosts({ ...ctx, db }, assert.ifError))
    app.post('/api/admin/vouchers', (c) => c.text('created'))
    const headers = { 'idempotency-key': 'expiring' }
    const request = { method: 'POST', headers, body: JSON.stringify(vouchers) }
    const response = await app.request('http://127.0.0.1/api/admin/vouchers', request)
    assert.equal(await response.text(), 'created')
  })

  test('key – is free again after 24 hours, even before its row is deleted', async (t) => {
    const adminServer = await startAdminServer(t)
    await storeInterrupted(adminServer, 'old', Date.now() - storedResponseTtlMs - 1)
    const created = await create(adminServer, 'old')
    assert.equal(created.status, 201)
    assert.deepEqual((await create(adminServer, 'old')).body, created.body)
  })

  test('stored response – is encrypted', async (t) => {
    const adminServer = await startAdminServer(t)
    const { codes } = (await create(adminServer, 'sealed')).body as { codes: string[] }
    const [row] = await adminServer.ctx.db.all(sql.selectFrom('kept_answers').selectAll())
    assert.equal(row?.account_id, 'admin-api')
    const stored = Buffer.from(row?.answer ?? '')
    assert.ok(stored.length > 100)
    for (const text of ['codes', 'sealed', ...codes]) assert.ok(!stored.includes(text), text)
  })

  test('malformed key – is rejected by name; other methods ignore the header', async (t) => {
    const adminServer = await startAdminServer(t)
    for (const key of ['', 'two words', 'x'.repeat(256)]) {
      const rejected = await create(adminServer, key)
      assert.deepEqual([rejected.status, errorOf(rejected).param], [400, 'Idempotency-Key'], key)
    }
    const headers = { 'idempotency-key': 'two words' }
    assert.equal((await adminServer.call('GET', '/vouchers', undefined, headers)).status, 200)
  })
})
