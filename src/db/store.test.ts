import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { checkBackup, restoreBackup } from './sqlite/backup-file.ts'
import { connectDb } from './db.ts'
import { chainHash, chainStart } from './journal.ts'
import { openReadOnly } from './sqlite/read-only.ts'
import { ChainError, journalAfter } from './read-ledger.ts'
import { sql } from './schema/schema.ts'
import { openDataKey, setting } from './settings.ts'
import { StoreError } from './store-error.ts'
import { ledgerCommit, requestRow, temporaryDir, temporaryStore } from './store.fixture.ts'
import { databaseFileName, openStore } from './store.ts'

const tierNamed = (name: string) => sql.insertInto('tiers').values({ name, price_factor_ppm: 1 })

function isConflict(error: unknown): boolean {
  return error instanceof StoreError && error.class === 'conflict'
}

test('commits come back after a close as checkpoint, journal since and owners', async (t) => {
  const dataDir = temporaryDir(t)
  const first = await openStore({ dataDir })
  assert.deepEqual(await first.readLedger(), { lastSeq: 0, checkpoint: undefined, journal: [], owners: [] })
  for (const seq of [1, 2, 3, 4]) {
    await first.commit(ledgerCommit(seq, seq === 4 ? {} : { checkpoint: { holds: `{"until":${seq}}` } }))
  }
  await first.close()
  const second = await openStore({ dataDir })
  t.after(() => second.close())
  const state = await second.readLedger()
  assert.equal(state.lastSeq, 4)
  assert.equal(state.checkpoint?.holds, '{"until":3}')
  assert.deepEqual(state.journal, [{ seq: 4, at: 1004, body: ledgerCommit(4).journal }])
  assert.equal(state.owners[0]?.balance_nanos, 4n)
  const kept = await second.db.all(sql.selectFrom('checkpoints').select('seq').orderBy('seq'))
  assert.deepEqual(
    kept.map((row) => row.seq),
    [2, 3],
  )
  await second.commit(ledgerCommit(5))
})

test('every journal row is chained to the one before by its hash', async (t) => {
  const store = await temporaryStore(t)
  await Promise.all([1, 2, 3].map((seq) => store.commit(ledgerCommit(seq))))
  const rows = await store.db.all(sql.selectFrom('journal').selectAll().orderBy('seq'))
  let hash = chainStart
  for (const row of rows) {
    assert.deepEqual(Buffer.from(row.prev), Buffer.from(hash))
    hash = chainHash(hash, row.body)
    assert.deepEqual(Buffer.from(row.hash), Buffer.from(hash))
  }
  assert.equal(rows.length, 3)
})

test('a journal row that was changed or taken out is found', async (t) => {
  for (const tampering of [
    `drop trigger journal_stays; update journal set body = '[]' where seq = 2`,
    'delete from journal where seq = 2',
    `delete from journal where seq = 1`,
  ]) {
    const dataDir = temporaryDir(t)
    const store = await openStore({ dataDir })
    for (const seq of [1, 2, 3]) await store.commit(ledgerCommit(seq))
    await store.close()
    const database = new DatabaseSync(join(dataDir, databaseFileName))
    database.exec(tampering)
    database.close()
    const again = await openStore({ dataDir })
    t.after(() => again.close())
    await assert.rejects(again.readLedger(), ChainError, tampering)
    await assert.rejects(Array.fromAsync(journalAfter(again.db, 0)), ChainError)
  }
})

test('a commit out of order is refused, with all that follow it, and the right one still goes through', async (t) => {
  const store = await temporaryStore(t)
  await store.commit(ledgerCommit(1))
  const outcomes = await Promise.allSettled([store.commit(ledgerCommit(3)), store.commit(ledgerCommit(4))])
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status),
    ['rejected', 'rejected'],
  )
  await store.commit(ledgerCommit(2))
  assert.equal((await store.readLedger()).lastSeq, 2)
})

test('a commit with a request that is there already writes nothing of itself', async (t) => {
  const store = await temporaryStore(t)
  await store.commit(ledgerCommit(1, { requests: [requestRow('req_1')] }))
  await assert.rejects(
    store.commit(ledgerCommit(2, { requests: [requestRow('req_2'), requestRow('req_1')] })),
    isConflict,
  )
  const entries = await store.db.all(sql.selectFrom('entries').select('id'))
  const requests = await store.db.all(sql.selectFrom('requests').select('request_id'))
  assert.deepEqual([entries.length, requests.length], [1, 1])
})

test('what was acknowledged is there after kill -9', async (t) => {
  const dataDir = temporaryDir(t)
  const program = `
    import { openStore } from ${JSON.stringify(new URL('./store.ts', import.meta.url).href)}
    import { ledgerCommit } from ${JSON.stringify(new URL('./store.fixture.ts', import.meta.url).href)}
    const store = await openStore({ dataDir: ${JSON.stringify(dataDir)} })
    for (let seq = 1; ; seq += 1) {
      await store.commit(ledgerCommit(seq))
      process.stdout.write(seq + '\\n')
    }`
  const file = join(dataDir, 'commits.ts')
  writeFileSync(file, program)
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  for await (const chunk of child.stdout) {
    said += String(chunk)
    if (said.includes('\n200\n')) child.kill('SIGKILL')
  }
  const acknowledged = Number(
    said
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

test('another thread reads and writes over its own ports', async (t) => {
  const store = await temporaryStore(t)
  const ports = store.portsForWorker()
  const program = `
    import { workerData, parentPort } from 'node:worker_threads'
    import { connectDb } from ${JSON.stringify(new URL('./db.ts', import.meta.url).href)}
    const db = connectDb(workerData)
    await db.write({ sql: "insert into settings values ('from', 'a worker')", parameters: [] })
    parentPort.postMessage(await db.all({ sql: 'select * from settings', parameters: [] }))`
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), {
    workerData: ports,
    transferList: [ports.writer, ports.reader, ports.reporter],
  })
  const [rows] = (await once(worker, 'message')) as [{ name: string; value: string }[]]
  assert.deepEqual(rows, [{ name: 'from', value: 'a worker' }])
  assert.equal(await setting(store.db, 'from'), 'a worker')
})

test('a close answers what was sent before it, and nothing after', async (t) => {
  const store = await openStore({ dataDir: temporaryDir(t), onFailed: (reason) => assert.fail(reason) })
  const other = connectDb(store.portsForWorker())
  const sent = [store.commit(ledgerCommit(1)), store.commit(ledgerCommit(2))]
  await store.close()
  await Promise.all(sent)
  await assert.rejects(other.write(tierNamed('late')), StoreError)
  await assert.rejects(store.commit(ledgerCommit(3)), StoreError)
})

test('a backup made under writing is whole, and takes the place of a lost database', async (t) => {
  const store = await temporaryStore(t)
  await store.commit(ledgerCommit(1))
  const copy = join(store.dataDir, 'copy.db')
  const writing = Promise.all(Array.from({ length: 50 }, (_, index) => store.commit(ledgerCommit(index + 2))))
  const moment = openReadOnly(join(store.dataDir, databaseFileName))
  await moment.copyTo(copy)
  moment.close()
  await writing
  const report = checkBackup(copy)
  assert.ok(report.lastSeq >= 1 && report.lastSeq <= 51)
  const fresh = temporaryDir(t)
  restoreBackup(copy, fresh)
  assert.throws(() => restoreBackup(copy, fresh), /already/)
  restoreBackup(copy, fresh, true)
  const restored = await openStore({ dataDir: fresh })
  t.after(() => restored.close())
  assert.equal((await restored.readLedger()).lastSeq, report.lastSeq)
  assert.throws(() => checkBackup(import.meta.filename))
})

test('the data key is made once, opens with its secret, and moves from the key file to ENCRYPTION_KEY', async (t) => {
  const { db, dataDir } = await temporaryStore(t)
  const first = Buffer.from(await openDataKey(db, { dataDir }))
  assert.deepEqual(Buffer.from(await openDataKey(db, { dataDir, encryptionKey: '' })), first)
  assert.deepEqual(Buffer.from(await openDataKey(db, { dataDir, encryptionKey: 'mine' })), first)
  const elsewhere = temporaryDir(t)
  assert.deepEqual(Buffer.from(await openDataKey(db, { dataDir: elsewhere, encryptionKey: 'mine' })), first)
  await assert.rejects(openDataKey(db, { dataDir: elsewhere, encryptionKey: 'yours' }), /ENCRYPTION_KEY/)
})
