/** What is refused before a single word of ours is said to a server. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { openWayTo } from '../../lib/tcp-proxy.fixture.ts'
import { openClient, openPool } from './connection.ts'
import { mayPass } from './errors.ts'
import { startPostgres, withoutPostgres, type PostgresServer } from './postgres.fixture.ts'

const skip = withoutPostgres
const about = { name: 'test', statementMs: 5000 }

async function serverFor(t: TestContext): Promise<PostgresServer> {
  const server = await startPostgres()
  t.after(() => server.remove())
  return server
}

/** The first message with nothing but who comes (PostgreSQL, 55.7, StartupMessage), as poolers pass it on. */
function withoutSettings(message: Buffer): Buffer {
  const words = message.toString('utf8', 8).split('\0')
  const kept = ['user', 'database'].map((name) => `${name}\0${words[words.indexOf(name) + 1]}\0`).join('')
  const bytes = Buffer.concat([message.subarray(0, 8), Buffer.from(`${kept}\0`)])
  bytes.writeInt32BE(bytes.length)
  return bytes
}

/** A way to a server that ignores what a connection asks for. */
function poolerTo(t: TestContext, url: string): Promise<string> {
  return openWayTo(
    t,
    () => url,
    (near, far) =>
      void near.once('data', (first: Buffer) => {
        far.write(withoutSettings(first))
        near.pipe(far).pipe(near)
      }),
  )
}

async function refusal(url: string): Promise<unknown> {
  const pool = openPool({ url, ...about }, 1)
  try {
    await assert.rejects(() => pool.query('select 1'), /standby|drops the settings|encoded as/)
  } finally {
    await pool.end()
  }
  return openClient({ url, ...about }).then(
    () => assert.fail('it was taken'),
    (error: unknown) => error,
  )
}

test('a pooler that drops our settings is refused for good: promises rest on them', { skip }, async (t) => {
  const url = (await serverFor(t)).urlOf('postgres')
  const error = await refusal(await poolerTo(t, url))
  assert.match(String(error), /DATABASE_URL: what is between this node and PostgreSQL drops the settings/)
  assert.equal(mayPass(error), false)
  // What PgBouncer says as it comes.
  const unsupported = new Error('unsupported startup parameter: statement_timeout')
  assert.equal(mayPass(Object.assign(unsupported, { code: '08P01' })), false)
})

test('a database that lacks most of what people write is refused for good', { skip }, async (t) => {
  const server = await serverFor(t)
  await server.ask("create database western encoding 'LATIN1' template template0")
  const error = await refusal(server.urlOf('western'))
  assert.match(String(error), /DATABASE_URL: the database is encoded as LATIN1/)
  assert.equal(mayPass(error), false)
})

test('a standby is refused until it is promoted', { skip }, async (t) => {
  const server = await serverFor(t)
  const standby = await server.standby()
  t.after(() => standby.remove())
  const url = standby.urlOf('postgres')
  const error = await refusal(url)
  assert.match(String(error), /DATABASE_URL: the server is a standby/)
  assert.equal(mayPass(error), true)
  await server.stop('SIGKILL')
  await standby.promote()
  await (await openClient({ url, ...about })).end()
})
