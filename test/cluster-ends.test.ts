/** A node that is told to end while what it does in the background cannot be finished. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Client } from 'pg'
import { openClient } from '../src/db/postgres/connection.ts'
import { jobLock } from '../src/db/postgres/advisory-locks.ts'
import { withoutPostgres } from '../src/db/postgres/postgres.fixture.ts'
import { openCluster, until, type Cluster } from './cluster.ts'

const skip = withoutPostgres

/** Begins something in the database that keeps others waiting; ended with the client. */
async function strangerAt(t: TestContext, url: string, text: string): Promise<Client> {
  const stranger = await openClient({ url, name: 'stranger', statementMs: 60_000 })
  t.after(() => stranger.end())
  await stranger.query(`set idle_in_transaction_session_timeout = 0; begin; ${text}`)
  return stranger
}

/** Resolves when a connection of this name waits for a lock. */
async function waits({ postgres }: Cluster, name: string): Promise<void> {
  const text = `select 1 from pg_stat_activity where application_name like '${name}' and wait_event_type = 'Lock'`
  await until(async () => (await postgres.ask(text)).length === 1)
}

test(
  'a node that is told to end in the middle of a backup ends at once, leaves nothing of it, and tells nobody of a failure',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 1, { BACKUP_EVERY: '1h' })
    const { house, url } = cluster
    const stranger = await strangerAt(t, url, 'lock table invites')
    await house.stop()
    await cluster.again(0, { BACKUP_EVERY: '1s' })
    await waits(cluster, 'sluice snapshot')
    assert.deepEqual(await house.stop(), { code: 0, signal: null })
    const left = (await readdir(join(house.dataDir, 'backups'))).filter((name) => name.startsWith('backup-'))
    assert.deepEqual(left, [])
    assert.doesNotMatch(house.log.join('\n'), /no backup could be made|could not be closed/)
    await stranger.query('rollback')
    await cluster.again(0)
    const { data } = await house.admin<{ data: { code: string }[] }>('GET', '/notices')
    assert.ok(data.every(({ code }) => code !== 'backup_failed'))
    await house.nothingHeld()
  },
)

test(
  'a node whose jobs wait for others when it is told to end does not wait for them for longer than 15 s, and says so',
  { skip },
  async (t) => {
    const cluster = await openCluster(t, 1)
    const { house, url } = cluster
    const stranger = await strangerAt(t, url, jobLock)
    await waits(cluster, '% jobs')
    assert.deepEqual(await house.stop(), { code: 0, signal: null })
    assert.match(
      house.log.join('\n'),
      /"left":\["the ledger"\],"msg":"not everything could be closed in time/,
    )
    await stranger.query('rollback')
    await cluster.again(0)
    await house.nothingHeld()
  },
)
