import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ledgerCommit, requestRow } from '../../db/store.fixture.ts'
import { adminApiKey, openOffice } from './admin-server.fixture.ts'

const dayMs = 86_400_000

test('a day of several pages is written whole, newest first, and nothing of the days beside it', async (t) => {
  const { store, url } = await openOffice(t)
  const from = Date.parse('2026-11-21')
  const times = Array.from({ length: 2500 }, (_, index) => from + (index % 100) * 1000)
  const ids = (at: number, index: number): string => `req_${String(at - from).padStart(8, '0')}_${index}`
  const requests = [from - 1, ...times, from + dayMs].map((at, index) => requestRow(ids(at, index), { at }))
  await store.commit(ledgerCommit(1, { requests }))
  const reply = await fetch(`${url}/requests.csv?day=2026-11-21`, {
    headers: { authorization: `Bearer ${adminApiKey}` },
  })
  assert.equal(reply.headers.get('content-disposition'), 'attachment; filename="requests-2026-11-21.csv"')
  assert.equal(reply.headers.get('cache-control'), 'no-store')
  const lines = (await reply.text()).split('\r\n').slice(1, -1)
  const written = lines.map((line) => line.split(','))
  assert.equal(new Set(written.map(([, id]) => id)).size, 2500)
  const order = written.map(([time]) => time ?? '')
  assert.deepEqual(order, order.toSorted().toReversed())
  assert.deepEqual([order[0], order.at(-1)], ['2026-11-21T00:01:39.000Z', '2026-11-21T00:00:00.000Z'])
})
