// @suite all – two PostgreSQL servers
/** A standby as the server, before and after its promotion. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openClient, openPool } from './connection.ts'
import { isTransient } from './errors.ts'
import { startPostgres, postgresSkipReason } from './postgres.fixture.ts'

const skip = postgresSkipReason
const options = { name: 'test', statementMs: 20_000 }

describe('PostgreSQL connections', () => {
  test('standby – is rejected until it is promoted', { skip }, async (t) => {
    const server = await startPostgres()
    t.after(() => server.remove())
    const standby = await server.startStandby()
    t.after(() => standby.remove())
    const url = standby.databaseUrl('postgres')
    const pool = openPool({ url, ...options }, 1)
    await assert.rejects(() => pool.query('select 1'), /the server is a standby/)
    await pool.end()
    await assert.rejects(openClient({ url, ...options }), (error) => {
      assert.match(String(error), /DATABASE_URL: the server is a standby/)
      return isTransient(error)
    })
    await server.stop('SIGKILL')
    await standby.promote()
    await (await openClient({ url, ...options })).end()
  })
})
