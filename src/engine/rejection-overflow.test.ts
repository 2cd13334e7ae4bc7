import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openPostgresDb } from '../db/postgres/postgres-db.ts'
import { postgresSkipReason as skip, startPostgres } from '../db/postgres/postgres.fixture.ts'
import { createRequestRow, openAnyStore } from '../db/store.fixture.ts'
import { queryDays, queryMinutes, sumCounts } from '../health/availability.ts'
import { openTcpProxy } from '../lib/tcp-proxy.fixture.ts'
import { RejectionOverflow } from './rejection-overflow.ts'

describe('RejectionOverflow', () => {
  test('rows that could not wait – count as failures of their minute and day', async (t) => {
    const { db } = await openAnyStore(t)
    const overflow = new RejectionOverflow(db, () => false)
    const at = Date.UTC(2026, 10, 21, 12, 0, 30)
    const rejected = { at, model: '', outcome: 'refused', http_status: 503 } as const
    overflow.record(createRequestRow('req_1', rejected))
    overflow.record(createRequestRow('req_2', { ...rejected, count: 9 }))
    overflow.record(createRequestRow('req_3', { ...rejected, at: at + 60_000 }))
    overflow.record(createRequestRow('req_4', { ...rejected, http_status: 429 }))
    await overflow.close()
    const span = { model: '', from: 0, to: at + 86_400_000 }
    const minutes = await queryMinutes(db, span)
    assert.deepEqual(
      minutes.map(({ start, failed }) => [start, failed]),
      [
        [at - 30_000, 10],
        [at + 30_000, 1],
      ],
    )
    assert.deepEqual(sumCounts(await queryDays(db, span)), { answered: 0, failed: 11, apart: 0 })
  })

  test('connection lost while rows are written – counts them once', { skip }, async (t) => {
    const server = await startPostgres()
    t.after(() => server.remove())
    const url = await server.createMigratedDatabase()
    const direct = openPostgresDb(url, 'test')
    t.after(() => direct.close())
    // The response to the next statement with this text is lost.
    for (const statement of ['begin', 'commit']) {
      let isLost = false
      const proxyUrl = await openTcpProxy(
        t,
        () => url,
        (near, far) => {
          let isLosing = false
          near.on('data', (bytes: Buffer) => {
            if (!isLost && bytes.includes(`${statement}\0`)) isLost = isLosing = true
            far.write(bytes)
          })
          far.on('data', (bytes) => void (isLosing ? near.destroy() : near.write(bytes)))
        },
      )
      const db = openPostgresDb(proxyUrl, 'test')
      t.after(() => db.close())
      const overflow = new RejectionOverflow(db, () => false)
      const at = Date.UTC(2026, 10, statement === 'begin' ? 20 : 21)
      const rejected = { at, model: '', outcome: 'refused', http_status: 503, count: 7 } as const
      overflow.record(createRequestRow('req_1', rejected))
      await overflow.close()
      assert.equal(isLost, true)
      await overflow.close()
      const span = { model: '', from: at, to: at + 86_400_000 }
      assert.equal(sumCounts(await queryDays(direct, span)).failed, 7, statement)
    }
  })
})
