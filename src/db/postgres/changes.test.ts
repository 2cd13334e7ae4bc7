/** How what one node has written reaches the others: by a word, or without it, over connections that come and go. */
import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { ChangeFeed, wordsChannelText } from './change-feed.ts'
import { openClient } from './connection.ts'
import { startPostgres, withoutPostgres, type PostgresServer } from './postgres.fixture.ts'

const skip = withoutPostgres
const patienceMs = 60_000

async function until(holds: () => boolean): Promise<void> {
  for (const start = performance.now(); !holds(); await delay(10))
    assert.ok(performance.now() - start < patienceMs, 'it did not come about')
}

let server: Promise<PostgresServer> | undefined
after(async () => (await server)?.remove())

async function openFeed(t: TestContext) {
  server ??= startPostgres()
  const url = await (await server).migratedDatabase()
  const writer = await openClient({ url, name: 'writer', statementMs: 20_000 })
  const changed: string[] = []
  const heard: string[] = []
  const works = { fail: 0 }
  const feed = new ChangeFeed(
    { url, name: 'test' },
    {
      changed(changes) {
        if (works.fail-- > 0) return Promise.reject(new Error('the database is away'))
        const ids = changes === 'everything' ? [changes] : changes.map(({ id }) => id)
        return Promise.resolve(void changed.push(...ids))
      },
      heard: (text) => void heard.push(text),
      connected: () => undefined,
      lost: () => undefined,
    },
  )
  t.after(async () => {
    await Promise.all([feed.close(), writer.end()])
  })
  await feed.start()
  const note = (id: string): string =>
    `insert into changes (kind, id, transaction) values ('key', '${id}', pg_current_xact_id())`
  return { feed, writer, changed, heard, works, note, url }
}

test(
  'a change whose word is lost is found all the same, also where its transaction ended after later ones',
  { skip },
  async (t) => {
    const { writer, changed, note, url } = await openFeed(t)
    // Nothing is said of what is written here by hand: no trigger of the tables of keys has seen it.
    await writer.query(note('silent'))
    await until(() => changed.includes('silent'))

    const slow = await openClient({ url, name: 'slow', statementMs: 20_000 })
    t.after(() => slow.end())
    await slow.query(`begin; ${note('slow')}`)
    await writer.query(note('quick'))
    await until(() => changed.includes('quick'))
    assert.ok(!changed.includes('slow'))
    await slow.query('commit')
    await until(() => changed.includes('slow'))
    assert.deepEqual(changed.toSorted(), ['quick', 'silent', 'slow'], 'each once')
  },
)

const cut = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'test changes'`

test(
  'a change that could not be taken up comes again; over a database that numbers transactions anew everything is told to be new',
  { skip },
  async (t) => {
    const { writer, changed, works, note } = await openFeed(t)
    works.fail = 2
    await writer.query(note('refused'))
    await until(() => changed.includes('refused'))

    // For a while the database seems to be further on than it is.
    await writer.query(`create schema ahead; create function ahead.pg_snapshot_xmin(pg_snapshot) returns xid8
        language sql as $$ select (pg_catalog.pg_snapshot_xmin($1)::text::bigint + 1000)::text::xid8 $$;
      alter role sluice set search_path = ahead, pg_catalog, public`)
    await writer.query(`${note('ahead')}; ${cut}`)
    await until(() => changed.includes('ahead'))
    await writer.query('alter role sluice reset search_path')
    changed.length = 0
    await writer.query(`${note('behind')}; ${cut}`)
    await until(() => changed.includes('everything'))
  },
)

test(
  'a feed whose connection is cut finds what was changed meanwhile, and hears what others say from then on',
  { skip },
  async (t) => {
    const { feed, writer, changed, heard, note } = await openFeed(t)
    await writer.query(cut)
    await writer.query(note('meanwhile'))
    await until(() => changed.includes('meanwhile'))
    const others = async (): Promise<void> =>
      void (await writer.query(`select pg_notify(channel, 'hello') from (${wordsChannelText}) as words`))
    for (const start = performance.now(); heard.length === 0; await delay(20)) {
      assert.ok(performance.now() - start < patienceMs, 'nothing is heard')
      await others()
    }
    assert.equal(heard[0], 'hello')
    const before = heard.length
    feed.say('my own word')
    await others()
    await until(() => heard.length > before)
    assert.ok(!heard.includes('my own word'), 'nobody hears himself')
  },
)
