// @backend sqlite – test/cluster/backup.test.ts covers backups of a cluster
// @suite all – some thirty commands and a relay for most tests
/** Backup of a running relay, restore elsewhere, and verification of both. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test, type TestContext } from 'node:test'

import { CommandLine } from '../../support/server/command-line.ts'
import { executeSql } from '../../support/server/database-access.ts'
import { sharedTestServer, startTestServer, type Verification } from '../../support/server/test-server.ts'
import { startRelay } from '../../support/server/relay-process.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

interface Backup {
  readonly path: string
  readonly entries: number
  readonly accounts: number
  readonly sealed_by: string
  readonly files: { name: string; sha256: string }[]
}

async function createFolder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-backup-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

/** The relay of all tests: one model, one account with a balance, and some paid requests. */
const server = await sharedTestServer()
const upstream = await server.upstream(respondWith('Hi!', { input: 1000, output: 1000 }))
await server.model('family-a-small', { upstreams: [upstream] })
const account = await server.account({ balance: '1' })
const { email } = await account.state()
for (let calls = 0; calls < 3; calls += 1) assert.equal(await sendRequest(), 200)

async function sendRequest(): Promise<number> {
  const response = await account.post({
    model: 'family-a-small',
    messages: [{ role: 'user', content: 'Hello!' }],
  })
  await response.arrayBuffer()
  return response.status
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

describe('Backup and restore', () => {
  test('Automatic recharges – are paused after a restore, until their customers agree again', async (t) => {
    const folder = await createFolder(t)
    await executeSql(
      server.relay,
      `insert into automatic_recharges (account_id, state, method, currency, consented_at, card_id, failures, created_at,
        updated_at) values ('${account.id}', 'on', 'stripe', 'CNY', 1, 'pm_1', 0, 1, 1)`,
    )
    const backup = await new CommandLine(server.dataDir).json<Backup>(['backup', join(folder, 'copy')])
    await new CommandLine(join(folder, 'data')).output(['restore', backup.path])
    using restored = new DatabaseSync(join(folder, 'data', 'sluice.db'), { readOnly: true })
    const row = restored.prepare('select state, problem from automatic_recharges').get()
    assert.deepEqual({ ...row }, { state: 'paused', problem: 'restored' })
  })

  test('Backup under traffic – is consistent and restores every balance and credential', async (t) => {
    const folder = await createFolder(t)
    const sluice = new CommandLine(server.dataDir)
    const traffic = Array.from({ length: 20 }, sendRequest)
    const backup = await sluice.json<Backup>(['backup', join(folder, 'copy')])
    assert.deepEqual(new Set(await Promise.all(traffic)), new Set([200]))
    assert.equal((await stat(backup.path)).mode & 0o777, 0o700)
    const files = ['manifest.json', 'sealing.key', 'sluice.db']
    assert.deepEqual((await readdir(backup.path)).toSorted(), files)
    for (const name of files) assert.equal((await stat(join(backup.path, name))).mode & 0o777, 0o600)
    assert.ok(backup.entries >= 4 && backup.entries <= 24)

    const elsewhere = new CommandLine(join(folder, 'data'))
    const output = await elsewhere.output(['restore', backup.path])
    assert.match(output, /^Restored .* to .*: 1 accounts, \d+ ledger entries\.\n$/)
    const report = await elsewhere.json<Verification>(['verify'])
    assert.partialDeepStrictEqual(report, { ok: true, entries: backup.entries, drift: '0' })
    const restored = await elsewhere.json<{ balance: string }>(['account', 'show', email])
    const paidRequests = backup.entries - 1
    assert.equal(restored.balance, String((1000 - 4 * paidRequests) / 1000))

    const relay = await startRelay({ dataDir: join(folder, 'data') })
    t.after(() => relay.stop())
    const { data } = await relay.admin<{ data: { id: string }[] }>('GET', '/upstreams')
    const testCall = await relay.admin<object>('POST', `/upstreams/${data[0]?.id}/test`, {})
    assert.partialDeepStrictEqual(testCall, { ok: true })
  })

  test('Damaged backup – is detected, and nothing of it is restored', async (t) => {
    const folder = await createFolder(t)
    const { path } = await new CommandLine(server.dataDir).json<Backup>(['backup', join(folder, 'copy')])
    const target = new CommandLine(join(folder, 'data'))
    const keyFile = /is intact, and its ledger is consistent\. Its own key file opens its credentials\.$/m
    assert.match(await target.output(['restore', path, '--check']), keyFile)
    const withKey = new CommandLine(join(folder, 'data'), { ENCRYPTION_KEY: 'not the key of this backup' })
    assert.match(await withKey.output(['restore', path, '--check']), keyFile)

    const database = join(path, 'sluice.db')
    const intact = await readFile(database)
    await appendFile(database, 'x')
    assert.match(await target.expectFailure(['restore', path]), /sluice\.db does not match the manifest/)

    // The ledger detects a changed balance even if the manifest is changed with it.
    await writeFile(database, intact)
    const changed = new DatabaseSync(database)
    changed.exec('update owners set balance_nanos = balance_nanos + 1')
    changed.close()
    const manifestPath = join(path, 'manifest.json')
    const manifest = await readFile(manifestPath, 'utf8')
    await writeFile(manifestPath, manifest.replace(sha256(intact), sha256(await readFile(database))))
    assert.match(
      await target.expectFailure(['restore', path, '--check']),
      /The ledger in .* is inconsistent: /,
    )

    await rm(database)
    assert.match(await target.expectFailure(['restore', path]), /sluice\.db is missing/)
    await rm(manifestPath)
    assert.match(await target.expectFailure(['restore', path]), /is not a backup/)
    await assert.rejects(stat(join(folder, 'data')), { code: 'ENOENT' })
  })

  test('Wrong ENCRYPTION_KEY – is named by restore, restore --check and doctor', async (t) => {
    const folder = await createFolder(t)
    const key = { ENCRYPTION_KEY: 'the passphrase of this relay' }
    const wrongKey = { ENCRYPTION_KEY: 'the passphrase of another relay' }
    const sealed = await startTestServer(t, { env: key })
    const sluice = new CommandLine(sealed.dataDir, { ...key, PORT: String(sealed.relay.port) })
    const { path } = await sluice.json<Backup>(['backup', join(folder, 'copy')])
    const target = join(folder, 'data')
    for (const args of [[path], [path, '--check']]) {
      const error = await new CommandLine(target, wrongKey).expectFailure(['restore', ...args])
      assert.match(
        error,
        /^sluice: ENCRYPTION_KEY does not decrypt the credentials in .*Set ENCRYPTION_KEY to/,
      )
    }
    await assert.rejects(stat(target), { code: 'ENOENT' })
    const check = ['restore', path, '--check']
    assert.match(await new CommandLine(target, key).output(check), /\. ENCRYPTION_KEY opens its credentials/)
    assert.match(await new CommandLine(target).output(check), /not checked: set ENCRYPTION_KEY/)
    const settings = { ...wrongKey, PORT: String(sealed.relay.port) }
    const diagnose = async () => {
      const result = await new CommandLine(sealed.dataDir, settings).run(['doctor', '--no-calls'])
      assert.equal(result.code, 1)
      return result.output
    }
    const problem = 'fail +encryption key +ENCRYPTION_KEY does not decrypt .*\\n +→ '
    assert.match(await diagnose(), new RegExp(`^${problem}The running relay has another key`, 'm'))
    await sealed.stop()
    assert.match(await diagnose(), new RegExp(`^${problem}Set ENCRYPTION_KEY to the value`, 'm'))
  })

  test('Second relay on the same DATA_DIR – reports the first; a killed one releases it', async () => {
    const second = new CommandLine(server.dataDir, { PORT: '1' })
    const line = await second.expectFailure(['serve'])
    assert.match(
      line,
      new RegExp(`in use by sluice serve \\(pid ${server.relay.pid} on .*, since .*, version`),
    )
    assert.match(line, /Stop that process, or set DATA_DIR/)

    const listEmails = async (): Promise<string[]> =>
      (await second.json<{ data: { email: string }[] }>(['account', 'list'])).data.map((each) => each.email)
    await server.kill()
    assert.deepEqual(await listEmails(), [email])
    await server.restart()
    assert.deepEqual(await listEmails(), [email])
  })

  test('Restore – never touches a running relay or existing data without --force', async (t) => {
    const folder = await createFolder(t)
    const sluice = new CommandLine(server.dataDir)
    const { path } = await sluice.json<Backup>(['backup', join(folder, 'copy')])
    const running = await sluice.expectFailure(['restore', path, '--force'])
    assert.match(running, new RegExp(`in use by sluice serve \\(pid ${server.relay.pid} `))
    assert.match(await sluice.expectFailure(['backup', path]), /already exists/)

    await server.stop()
    await sluice.output(['account', 'credit', email, '7', '--reason', 'after the backup'])
    assert.match(await sluice.expectFailure(['restore', path]), /is not empty\. Use --force/)
    const { balance: after } = await sluice.json<{ balance: string }>(['account', 'show', email])
    const restored = await sluice.json<{ moved_aside: string }>(['restore', path, '--force'])
    const { balance: before } = await sluice.json<{ balance: string }>(['account', 'show', email])
    assert.equal(Number(after) - Number(before), 7)

    const aside = new CommandLine(restored.moved_aside)
    assert.equal((await aside.json<{ balance: string }>(['account', 'show', email])).balance, after)
    await server.restart()
  })

  test('Changed ledger – fails verification with exit code 1, on a stopped and a running relay', async (t) => {
    const folder = await createFolder(t)
    const sluice = new CommandLine(server.dataDir)
    const { path } = await sluice.json<Backup>(['backup', join(folder, 'copy')])
    const tamper = (change: string): void => {
      const database = new DatabaseSync(join(server.dataDir, 'sluice.db'), { timeout: 5000 })
      // Triggers prevent changes to ledger rows, so drop them first.
      for (const { name } of database
        .prepare(`select name from sqlite_schema where type = 'trigger'`)
        .all()) {
        database.exec(`drop trigger "${String(name)}"`)
      }
      database.exec(change)
      database.close()
    }
    tamper('update entries set amount_nanos = amount_nanos + 5 where id = 2')
    for (const state of ['running', 'stopped']) {
      if (state === 'stopped') await server.kill()
      const { code, output, errors } = await sluice.run(['verify', '--json'])
      assert.equal(code, 1, state)
      assert.partialDeepStrictEqual(JSON.parse(output), { ok: false })
      assert.match(errors.join(), /^sluice: The ledger is inconsistent\./)
    }
    tamper('update entries set amount_nanos = amount_nanos - 5 where id = 2')
    assert.match(await sluice.output(['verify']), /^ledger +consistent$/m)

    tamper(`update journal set body = replace(body, '1', '2') where seq = 2`)
    const failure = await sluice.run(['verify'])
    assert.equal(failure.code, 1)
    assert.match(failure.output, /^ledger +INCONSISTENT\n[^]*^- .*hash/m)
    await sluice.output(['restore', path, '--force'])
    await server.restart()
  })
})
