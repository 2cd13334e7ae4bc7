// @suite all – lost connections to PostgreSQL
/** How changes of one node reach the others, with or without notifications, across lost connections. */
import assert from 'node:assert/strict'
import { after, describe, test, type TestContext } from 'node:test'
import { ChangeFeed, broadcastChannelSql } from './change-feed.ts'
import { openClient } from './connection.ts'
import { startPostgres, postgresSkipReason, type PostgresServer } from './postgres.fixture.ts'
import { waitUntil } from '../../../test/support/wait.ts'

const skip = postgresSkipReason

let server: Promise<PostgresServer> | undefined
after(async () => (await server)?.remove())

async function openFeed(t: TestContext) {
  server ??= startPostgres()
  const url = await (await server).createMigratedDatabase()
  const writer = await openClient({ url, name: 'writer', statementMs: 20_000 })
  const changed: string[] = []
  const broadcasts: string[] = []
  const failures = { fail: 0 }
  const feed = new ChangeFeed(
    { url, name: 'test' },
    {
      onChanges(changes) {
        if (failures.fail-- > 0) return Promise.reject(new Error('the database is unavailable'))
        const ids = changes === 'everything' ? [changes] : changes.map(({ id }) => id)
        return Promise.resolve(void changed.push(...ids))
      },
      onBroadcast: (text) => void broadcasts.push(text),
      onConnected: () => undefined,
      onDisconnected: () => undefined,
    },
  )
  t.after(async () => {
    await Promise.all([feed.close(), writer.end()])
  })
  await feed.start()
  const changeSql = (id: string): string =>
    `insert into changes (kind, id, transaction) values ('key', '${id}', pg_current_xact_id())`
  return { feed, writer, changed, heard: broadcasts, works: failures, note: changeSql, url }
}

describe('ChangeFeed', () => {
  test(
    'polling – finds changes without a notification, also of transactions that end out of order',
    { skip },
    async (t) => {
      const { writer, changed, note: changeSql, url } = await openFeed(t)
      // This insert sends no notification, because it bypasses the triggers of the tables.
      await writer.query(changeSql('silent'))
      await waitUntil(() => changed.includes('silent'))

      const slow = await openClient({ url, name: 'slow', statementMs: 20_000 })
      t.after(() => slow.end())
      await slow.query(`begin; ${changeSql('slow')}`)
      await writer.query(changeSql('quick'))
      await waitUntil(() => changed.includes('quick'))
      assert.ok(!changed.includes('slow'))
      await slow.query('commit')
      await waitUntil(() => changed.includes('slow'))
      assert.deepEqual(changed.toSorted(), ['quick', 'silent', 'slow'], 'each once')
    },
  )

  const terminateSql = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'test changes'`

  test(
    'recovery – retries failed changes, and reloads everything after a lost history',
    { skip },
    async (t) => {
      const { writer, changed, works: failures, note: changeSql } = await openFeed(t)
      failures.fail = 2
      await writer.query(changeSql('refused'))
      await waitUntil(() => changed.includes('refused'))

      // Temporarily makes the database's transaction ids look higher than they are.
      await writer.query(`create schema ahead; create function ahead.pg_snapshot_xmin(pg_snapshot) returns xid8
        language sql as $$ select (pg_catalog.pg_snapshot_xmin($1)::text::bigint + 1000)::text::xid8 $$;
      alter role sluice set search_path = ahead, pg_catalog, public`)
      await writer.query(`${changeSql('ahead')}; ${terminateSql}`)
      await waitUntil(() => changed.includes('ahead'))
      await writer.query('alter role sluice reset search_path')
      changed.length = 0
      await writer.query(`${changeSql('behind')}; ${terminateSql}`)
      await waitUntil(() => changed.includes('everything'))
    },
  )

  test('reconnect – finds the changes made meanwhile and receives broadcasts again', { skip }, async (t) => {
    const { feed, writer, changed, heard: broadcasts, note: changeSql } = await openFeed(t)
    await writer.query(terminateSql)
    await writer.query(changeSql('meanwhile'))
    await waitUntil(() => changed.includes('meanwhile'))
    const others = async (): Promise<void> =>
      void (await writer.query(`select pg_notify(channel, 'hello') from (${broadcastChannelSql}) as words`))
    await waitUntil(async () => {
      await others()
      return broadcasts.length > 0
    }, 'a broadcast')
    assert.equal(broadcasts[0], 'hello')
    const before = broadcasts.length
    feed.broadcast('my own word')
    await others()
    await waitUntil(() => broadcasts.length > before)
    assert.ok(!broadcasts.includes('my own word'), 'a node does not receive its own broadcasts')
  })
})
