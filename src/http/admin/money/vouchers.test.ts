import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hashOfVoucher } from '../../../ledger/credits/vouchers.ts'
import { startAdminServer } from '../admin-server.fixture.ts'

interface List {
  readonly data: Record<string, unknown>[]
  readonly next: string | null
}

describe('vouchers in the admin API', () => {
  test('codes – are returned once, stored as hashes and matched however they are typed', async (t) => {
    const adminServer = await startAdminServer(t)
    const order = { amount: '10.50', count: 3, expires_at: '2099-01-01T00:00:00Z' }
    const created = await adminServer.call('POST', '/vouchers', order)
    assert.equal(created.status, 201)
    const body = created.body as { codes: string[] } & Record<string, unknown>
    assert.partialDeepStrictEqual(body, { amount: '10.5', count: 3, expires_at: '2099-01-01T00:00:00.000Z' })
    assert.equal(new Set(body.codes).size, 3)
    for (const code of body.codes) assert.match(code, /^([0-9A-HJKMNP-TV-Z]{4}-){4}[0-9A-HJKMNP-TV-Z]{4}$/)
    const kept = await adminServer.ctx.db.all<{ code_hash: string }>({
      sql: 'select * from vouchers',
      parameters: [],
    })
    const typed = body.codes.map((code) => code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o'))
    assert.deepEqual(kept.map((row) => row.code_hash).toSorted(), typed.map(hashOfVoucher).toSorted())
    const audit = await adminServer.call('GET', '/audit')
    const list = await adminServer.call('GET', '/vouchers')
    for (const code of body.codes) {
      assert.ok(
        !JSON.stringify([list.body, audit.body, kept], (_, value: unknown) =>
          typeof value === 'bigint' ? 0 : value,
        ).includes(code),
      )
    }
  })

  test('GET /vouchers – lists in pages; an invalid creation names its field', async (t) => {
    const adminServer = await startAdminServer(t)
    for (const amount of ['1', '2']) await adminServer.call('POST', '/vouchers', { amount, count: 2 })
    const first = (await adminServer.call('GET', '/vouchers?limit=3')).body as List
    const rest = (await adminServer.call('GET', `/vouchers?limit=3&cursor=${first.next}`)).body as List
    const listed = [...first.data, ...rest.data]
    assert.equal(new Set(listed.map((voucher) => voucher['id'])).size, 4)
    assert.deepEqual(
      listed.map((voucher) => voucher['redeemed_by']),
      [null, null, null, null],
    )
    assert.equal(rest.next, null)
    const wrong: [object, string][] = [
      [{ count: 1 }, 'amount'],
      [{ amount: '0', count: 1 }, 'amount'],
      [{ amount: '-1', count: 1 }, 'amount'],
      [{ amount: '1', count: 0 }, 'count'],
      [{ amount: '1', count: 1001 }, 'count'],
      [{ amount: '1', count: 1, expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
      [{ amount: '1', count: 1, code: 'MINE' }, 'code'],
    ]
    for (const [order, param] of wrong) {
      const response = await adminServer.call('POST', '/vouchers', order)
      const { error } = response.body as { error: Record<string, unknown> }
      assert.deepEqual([response.status, error['param']], [400, param], JSON.stringify(order))
    }
  })
})
