import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLedgerCommit, createRequestRow } from '../../db/store.fixture.ts'
import { adminApiKey, startAdminServer } from './admin-server.fixture.ts'

const dayMs = 86_400_000

describe('CSV exports', () => {
  test('GET /requests.csv – exports all pages of one day only, newest first', async (t) => {
    const { store, url } = await startAdminServer(t)
    const from = Date.parse('2026-11-21')
    const times = Array.from({ length: 2500 }, (_, index) => from + (index % 100) * 1000)
    const ids = (at: number, index: number): string => `req_${String(at - from).padStart(8, '0')}_${index}`
    const requests = [from - 1, ...times, from + dayMs].map((at, index) =>
      createRequestRow(ids(at, index), { at }),
    )
    await store.commit(createLedgerCommit(1, { requests }))
    const response = await fetch(`${url}/requests.csv?day=2026-11-21`, {
      headers: { authorization: `Bearer ${adminApiKey}` },
    })
    assert.equal(
      response.headers.get('content-disposition'),
      'attachment; filename="requests-2026-11-21.csv"',
    )
    assert.equal(response.headers.get('cache-control'), 'no-store')
    const bytes = Buffer.from(await response.arrayBuffer())
    assert.equal(bytes.subarray(0, 5).toString(), 'time,', 'scripts get no byte order mark')
    const lines = bytes.toString().split('\r\n').slice(1, -1)
    const written = lines.map((line) => line.split(','))
    assert.equal(new Set(written.map(([, id]) => id)).size, 2500)
    const order = written.map(([time]) => time ?? '')
    assert.deepEqual(order, order.toSorted().toReversed())
    assert.deepEqual([order[0], order.at(-1)], ['2026-11-21T00:01:39.000Z', '2026-11-21T00:00:00.000Z'])
  })
})
