import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { checkBackup, restoreBackup } from './backup-file.ts'
import { connectDb } from './port-db.ts'
import { chainHash, chainGenesis } from '../journal.ts'
import { openReadOnly } from './read-only.ts'
import { JournalChainError, readJournalAfter } from '../read-ledger.ts'
import { sql } from '../schema/schema.ts'
import { getSetting } from '../settings.ts'
import { StoreError } from '../store-error.ts'
import {
  createLedgerCommit,
  createRequestRow,
  createTemporaryDir,
  openTemporaryStore,
} from '../store.fixture.ts'
import { databaseFileName, openStore } from './store.ts'

const tierNamed = (name: string) => sql.insertInto('tiers').values({ name, price_factor_ppm: 1 })

function isConflict(error: unknown): boolean {
  return error instanceof StoreError && error.class === 'conflict'
}

describe('SQLite store', () => {
  test('reopening – returns the last checkpoint, the journal since then and the owners', async (t) => {
    const dataDir = createTemporaryDir(t)
    const first = await openStore({ dataDir })
    assert.deepEqual(await first.readLedger(), { lastSeq: 0, checkpoint: undefined, journal: [], owners: [] })
    for (const seq of [1, 2, 3, 4]) {
      await first.commit(
        createLedgerCommit(seq, seq === 4 ? {} : { checkpoint: { holds: `{"until":${seq}}` } }),
      )
    }
    await first.close()
    const second = await openStore({ dataDir })
    t.after(() => second.close())
    const state = await second.readLedger()
    assert.equal(state.lastSeq, 4)
    assert.equal(state.checkpoint?.holds, '{"until":3}')
    assert.deepEqual(state.journal, [{ seq: 4, at: 1004, body: createLedgerCommit(4).journal }])
    assert.equal(state.owners[0]?.balance_nanos, 4n)
    const checkpoints = await second.db.all(sql.selectFrom('checkpoints').select('seq').orderBy('seq'))
    assert.deepEqual(
      checkpoints.map((row) => row.seq),
      [2, 3],
    )
    await second.commit(createLedgerCommit(5))
  })

  test('journal – every row is chained to the previous one by its hash', async (t) => {
    const store = await openTemporaryStore(t)
    await Promise.all([1, 2, 3].map((seq) => store.commit(createLedgerCommit(seq))))
    const rows = await store.db.all(sql.selectFrom('journal').selectAll().orderBy('seq'))
    let hash = chainGenesis
    for (const row of rows) {
      assert.deepEqual(Buffer.from(row.prev), Buffer.from(hash))
      hash = chainHash(hash, row.body)
      assert.deepEqual(Buffer.from(row.hash), Buffer.from(hash))
    }
    assert.equal(rows.length, 3)
  })

  test('tampering – a changed or deleted journal row is detected', async (t) => {
    for (const tampering of [
      `drop trigger journal_stays; update journal set body = '[]' where seq = 2`,
      'delete from journal where seq = 2',
      `delete from journal where seq = 1`,
    ]) {
      const dataDir = createTemporaryDir(t)
      const store = await openStore({ dataDir })
      for (const seq of [1, 2, 3]) await store.commit(createLedgerCommit(seq))
      await store.close()
      const database = new DatabaseSync(join(dataDir, databaseFileName))
      database.exec(tampering)
      database.close()
      const reopened = await openStore({ dataDir })
      t.after(() => reopened.close())
      await assert.rejects(reopened.readLedger(), JournalChainError, tampering)
      await assert.rejects(Array.fromAsync(readJournalAfter(reopened.db, 0)), JournalChainError)
    }
  })

  test('commit out of order – is rejected with all that follow, and the correct one succeeds', async (t) => {
    const store = await openTemporaryStore(t)
    await store.commit(createLedgerCommit(1))
    const outcomes = await Promise.allSettled([
      store.commit(createLedgerCommit(3)),
      store.commit(createLedgerCommit(4)),
    ])
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status),
      ['rejected', 'rejected'],
    )
    await store.commit(createLedgerCommit(2))
    assert.equal((await store.readLedger()).lastSeq, 2)
  })

  test('commit with a duplicate request – writes nothing', async (t) => {
    const store = await openTemporaryStore(t)
    await store.commit(createLedgerCommit(1, { requests: [createRequestRow('req_1')] }))
    await assert.rejects(
      store.commit(
        createLedgerCommit(2, { requests: [createRequestRow('req_2'), createRequestRow('req_1')] }),
      ),
      isConflict,
    )
    const entries = await store.db.all(sql.selectFrom('entries').select('id'))
    const requests = await store.db.all(sql.selectFrom('requests').select('request_id'))
    assert.deepEqual([entries.length, requests.length], [1, 1])
  })

  test('kill -9 – loses no acknowledged commit', async (t) => {
    const dataDir = createTemporaryDir(t)
    const program = `
    import { openStore } from ${JSON.stringify(new URL('./store.ts', import.meta.url).href)}
    import { createLedgerCommit } from ${JSON.stringify(new URL('../store.fixture.ts', import.meta.url).href)}
    const store = await openStore({ dataDir: ${JSON.stringify(dataDir)} })
    for (let seq = 1; ; seq += 1) {
      await store.commit(createLedgerCommit(seq))
      process.stdout.write(seq + '\\n')
    }`
    const file = join(dataDir, 'commits.ts')
    writeFileSync(file, program)
    const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    for await (const chunk of child.stdout) {
      output += String(chunk)
      if (output.includes('\n200\n')) child.kill('SIGKILL')
    }
    const acknowledged = Number(
      output
        .trimEnd()
        .split('\n')
        .findLast((line) => line !== ''),
    )
    const store = await openStore({ dataDir })
    t.after(() => store.close())
    const { lastSeq } = await store.readLedger()
    assert.ok(
      lastSeq >= acknowledged && lastSeq <= acknowledged + 1,
      `${acknowledged} acknowledged, ${lastSeq} found`,
    )
  })

  test('portsForWorker – lets another thread read and write over its own ports', async (t) => {
    const store = await openTemporaryStore(t)
    const ports = store.portsForWorker()
    const program = `
    import { workerData, parentPort } from 'node:worker_threads'
    import { connectDb } from ${JSON.stringify(new URL('./port-db.ts', import.meta.url).href)}
    const { db } = connectDb(workerData)
    await db.write({ sql: "insert into settings values ('from', 'a worker')", parameters: [] })
    parentPort.postMessage(await db.all({ sql: 'select * from settings', parameters: [] }))`
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), {
      workerData: ports,
      transferList: Object.values(ports),
    })
    const [rows] = (await once(worker, 'message')) as [{ name: string; value: string }[]]
    assert.deepEqual(rows, [{ name: 'from', value: 'a worker' }])
    assert.equal(await getSetting(store.db, 'from'), 'a worker')
  })

  test('failed batch – its error names the constraint and the statement', async (t) => {
    const { db } = await openTemporaryStore(t)
    const add = { sql: "insert into settings values ('a', 'b')", parameters: [] }
    const message = 'UNIQUE constraint failed: settings.name'
    const expected = { class: 'conflict', message, constraint: 'settings.name', statement: 1 }
    await assert.rejects(db.write(add, add), expected)
  })

  test('lookups – wait neither for reads nor for reports', async (t) => {
    const store = await openTemporaryStore(t)
    const { db, lookups } = connectDb(store.portsForWorker())
    const slow = {
      sql: `with recursive counter (n) as (select 1 union all select n + 1 from counter where n < 2000000)
        select count(*) as found from counter`,
      parameters: [],
    }
    const ended: string[] = []
    const pending = [db.all(slow), db.report(slow)].map((query) => query.then(() => ended.push('slow')))
    await lookups.first({ sql: 'select 1', parameters: [] })
    assert.deepEqual(ended, [])
    await Promise.all(pending)
  })

  test('close – completes pending requests and rejects later ones', async (t) => {
    const store = await openStore({
      dataDir: createTemporaryDir(t),
      onFailed: (reason) => assert.fail(reason),
    })
    const { db: other } = connectDb(store.portsForWorker())
    const sent = [store.commit(createLedgerCommit(1)), store.commit(createLedgerCommit(2))]
    await store.close()
    await Promise.all(sent)
    await assert.rejects(other.write(tierNamed('late')), StoreError)
    await assert.rejects(store.commit(createLedgerCommit(3)), StoreError)
  })
})

describe('backup file', () => {
  test('backup – is consistent under concurrent writes and replaces a lost database', async (t) => {
    const store = await openTemporaryStore(t)
    await store.commit(createLedgerCommit(1))
    const copy = join(store.dataDir, 'copy.db')
    const writing = Promise.all(
      Array.from({ length: 50 }, (_, index) => store.commit(createLedgerCommit(index + 2))),
    )
    const snapshot = openReadOnly(join(store.dataDir, databaseFileName))
    await snapshot.copyTo(copy)
    snapshot.close()
    await writing
    const report = checkBackup(copy)
    assert.ok(report.lastSeq >= 1 && report.lastSeq <= 51)
    const newDir = createTemporaryDir(t)
    restoreBackup(copy, newDir)
    assert.throws(() => restoreBackup(copy, newDir), /already/)
    restoreBackup(copy, newDir, { replace: true })
    const restored = await openStore({ dataDir: newDir })
    t.after(() => restored.close())
    assert.equal((await restored.readLedger()).lastSeq, report.lastSeq)
    assert.throws(() => checkBackup(import.meta.filename))
  })
})
