/** Servers that are rejected when a connection is opened. */
import assert from 'node:assert/strict'
import { after, describe, test, type TestContext } from 'node:test'
import { openTcpProxy } from '../../lib/tcp-proxy.fixture.ts'
import { openClient, openPool } from './connection.ts'
import { isTransient, toPostgresFailure } from './errors.ts'
import { startPostgres, postgresSkipReason, type PostgresServer } from './postgres.fixture.ts'

const skip = postgresSkipReason
const options = { name: 'test', statementMs: 20_000 }

let server: PostgresServer
if (skip === false) {
  server = await startPostgres()
  after(() => server.remove())
}

/** Reduces a StartupMessage to user and database (PostgreSQL, 55.7), as poolers forward it. */
function stripSettings(message: Buffer): Buffer {
  const fields = message.toString('utf8', 8).split('\0')
  const kept = ['user', 'database'].map((name) => `${name}\0${fields[fields.indexOf(name) + 1]}\0`).join('')
  const bytes = Buffer.concat([message.subarray(0, 8), Buffer.from(`${kept}\0`)])
  bytes.writeInt32BE(bytes.length)
  return bytes
}

/** Starts a proxy that drops the connection settings. */
function startPooler(t: TestContext, url: string): Promise<string> {
  return openTcpProxy(
    t,
    () => url,
    (near, far) =>
      void near.once('data', (first: Buffer) => {
        far.write(stripSettings(first))
        near.pipe(far).pipe(near)
      }),
  )
}

async function connectionError(url: string): Promise<unknown> {
  const pool = openPool({ url, ...options }, 1)
  try {
    await assert.rejects(() => pool.query('select 1'), /standby|drops the settings|encoded as/)
  } finally {
    await pool.end()
  }
  return openClient({ url, ...options }).then(
    () => assert.fail('the connection was accepted'),
    (error: unknown) => error,
  )
}

describe('PostgreSQL connections', () => {
  test('server without free connections – the error says what to do', { skip }, async () => {
    const admin = await openClient({ url: server.databaseUrl('postgres'), ...options })
    await admin.query('create role crowded login connection limit 0')
    await admin.end()
    const url = server.databaseUrl('postgres').replace(/\/\/\w+@/, '//crowded@')
    const error: unknown = await openClient({ url, ...options }).catch((thrown: unknown) => thrown)
    assert.match(String(error), /DATABASE_URL: too many connections for role .*\. Raise max_connections/)
    assert.equal(isTransient(error), true)
    const failure = toPostgresFailure(error)
    assert.deepEqual([failure.class, failure.message], ['full', (error as Error).message])
  })

  test('pooler – is rejected permanently if it drops the connection settings', { skip }, async (t) => {
    const url = server.databaseUrl('postgres')
    const error = await connectionError(await startPooler(t, url))
    assert.match(String(error), /DATABASE_URL: a pooler between this node and PostgreSQL drops the settings/)
    assert.equal(isTransient(error), false)
    // PgBouncer's error with its default configuration.
    const unsupported = new Error('unsupported startup parameter: statement_timeout')
    assert.equal(isTransient(Object.assign(unsupported, { code: '08P01' })), false)
  })

  test('encoding – a database that cannot store all text is rejected permanently', { skip }, async () => {
    await server.query("create database western encoding 'LATIN1' template template0")
    const error = await connectionError(server.databaseUrl('western'))
    assert.match(String(error), /DATABASE_URL: the database is encoded as LATIN1/)
    assert.equal(isTransient(error), false)
  })
})
