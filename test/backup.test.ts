/** What a relay has to remember: copied while it works, put back elsewhere, and proven each time. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'

import { CommandLine } from './support/server/command-line.ts'
import { openHouse, type House, type Verification } from './support/server/test-server.ts'
import { startRelay } from './support/server/relay-process.ts'
import { saying } from './support/upstream/scripted-responses.ts'

interface Backup {
  readonly path: string
  readonly entries: number
  readonly accounts: number
  readonly sealed_by: string
  readonly files: { name: string; sha256: string }[]
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-backup-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

/** A relay with one model, one person of means, and some calls paid. */
async function livelyHouse(
  t: TestContext,
): Promise<{ house: House; ask: () => Promise<number>; email: string }> {
  const house = await openHouse(t)
  const upstream = await house.upstream(saying('Hi!', { input: 1000, output: 1000 }))
  await house.model('family-a-small', { upstreams: [upstream] })
  const account = await house.account({ balance: '1' })
  const ask = async (): Promise<number> => {
    const reply = await account.post({
      model: 'family-a-small',
      messages: [{ role: 'user', content: 'Hello!' }],
    })
    await reply.arrayBuffer()
    return reply.status
  }
  for (let calls = 0; calls < 3; calls += 1) assert.equal(await ask(), 200)
  const { email } = await house.admin<{ email: string }>('GET', `/accounts/${account.id}`)
  return { house, ask, email }
}

test('a backup made under traffic is a whole moment, and comes back with every yuan and every credential', async (t) => {
  const { house, ask, email } = await livelyHouse(t)
  const place = await folder(t)
  const sluice = new CommandLine(house.dataDir)
  const traffic = Array.from({ length: 20 }, ask)
  const backup = await sluice.json<Backup>(['backup', join(place, 'copy')])
  assert.deepEqual(new Set(await Promise.all(traffic)), new Set([200]))
  assert.equal((await stat(backup.path)).mode & 0o777, 0o700)
  const files = ['manifest.json', 'sealing.key', 'sluice.db']
  assert.deepEqual((await readdir(backup.path)).toSorted(), files)
  for (const name of files) assert.equal((await stat(join(backup.path, name))).mode & 0o777, 0o600)
  assert.ok(backup.entries >= 4 && backup.entries <= 24)

  const elsewhere = new CommandLine(join(place, 'data'))
  const words = await elsewhere.output(['restore', backup.path])
  assert.match(words, /is as it was at .*: 1 accounts, \d+ ledger entries\.\n$/)
  const verdict = await elsewhere.json<Verification>(['verify'])
  assert.partialDeepStrictEqual(verdict, { ok: true, entries: backup.entries, drift: '0' })
  const account = await elsewhere.json<{ balance: string }>(['account', 'show', email])
  const paid = backup.entries - 1
  assert.equal(account.balance, String((1000 - 4 * paid) / 1000))

  const relay = await startRelay({ dataDir: join(place, 'data') })
  t.after(() => relay.stop())
  const { data } = await relay.admin<{ data: { id: string }[] }>('GET', '/upstreams')
  const trial = await relay.admin<object>('POST', `/upstreams/${data[0]?.id}/test`, {})
  assert.partialDeepStrictEqual(trial, { ok: true })
  await house.nothingHeld()
})

test('a restore touches nothing of a running relay, nor of what is there, unless it may move it aside', async (t) => {
  const { house, email } = await livelyHouse(t)
  const place = await folder(t)
  const sluice = new CommandLine(house.dataDir)
  const { path } = await sluice.json<Backup>(['backup', join(place, 'copy')])
  const running = await sluice.failure(['restore', path, '--force'])
  assert.match(running, new RegExp(`in use by sluice serve \\(pid ${house.relay.pid} `))
  assert.match(await sluice.failure(['backup', path]), /is there already/)

  await house.stop()
  await sluice.output(['account', 'credit', email, '7', '--reason', 'after the backup'])
  assert.match(await sluice.failure(['restore', path]), /is not empty\. --force/)
  const { balance: after } = await sluice.json<{ balance: string }>(['account', 'show', email])
  const restored = await sluice.json<{ moved_aside: string }>(['restore', path, '--force'])
  const { balance: before } = await sluice.json<{ balance: string }>(['account', 'show', email])
  assert.equal(Number(after) - Number(before), 7)

  const aside = new CommandLine(restored.moved_aside)
  assert.equal((await aside.json<{ balance: string }>(['account', 'show', email])).balance, after)
  await house.restart()
  await house.nothingHeld()
})

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

test('a damaged backup is told from a whole one, and nothing of it is put in place', async (t) => {
  const { house } = await livelyHouse(t)
  const place = await folder(t)
  const { path } = await new CommandLine(house.dataDir).json<Backup>(['backup', join(place, 'copy')])
  const target = new CommandLine(join(place, 'data'))
  assert.match(await target.output(['restore', path, '--check']), /is whole, and its ledger holds/)

  const database = join(path, 'sluice.db')
  const whole = await readFile(database)
  await appendFile(database, 'x')
  assert.match(await target.failure(['restore', path]), /sluice\.db is not what the manifest says/)

  // One who changes a balance and the manifest with it is still found by the ledger.
  await writeFile(database, whole)
  const changed = new DatabaseSync(database)
  changed.exec('update owners set balance_nanos = balance_nanos + 1')
  changed.close()
  const manifestPath = join(path, 'manifest.json')
  const manifest = await readFile(manifestPath, 'utf8')
  await writeFile(manifestPath, manifest.replace(hashOf(whole), hashOf(await readFile(database))))
  assert.match(await target.failure(['restore', path, '--check']), /The ledger in .* does not hold: /)

  await rm(database)
  assert.match(await target.failure(['restore', path]), /sluice\.db is missing/)
  await rm(manifestPath)
  assert.match(await target.failure(['restore', path]), /is no backup/)
  await assert.rejects(stat(join(place, 'data')), { code: 'ENOENT' })
})

test('a changed ledger fails verification with 1, on a stopped and on a running relay', async (t) => {
  const { house } = await livelyHouse(t)
  const sluice = new CommandLine(house.dataDir)
  const tamper = (change: string): void => {
    const database = new DatabaseSync(join(house.dataDir, 'sluice.db'), { timeout: 5000 })
    // Rows of the ledger cannot be changed, except by one who takes away what keeps them.
    for (const { name } of database.prepare(`select name from sqlite_schema where type = 'trigger'`).all()) {
      database.exec(`drop trigger "${String(name)}"`)
    }
    database.exec(change)
    database.close()
  }
  tamper('update entries set amount_nanos = amount_nanos + 5 where id = 2')
  for (const state of ['running', 'stopped']) {
    if (state === 'stopped') await house.kill()
    const { code, output, errors } = await sluice.run(['verify', '--json'])
    assert.equal(code, 1, state)
    assert.partialDeepStrictEqual(JSON.parse(output), { ok: false })
    assert.match(errors.join(), /^sluice: The ledger does not hold\./)
  }
  tamper('update entries set amount_nanos = amount_nanos - 5 where id = 2')
  assert.match(await sluice.output(['verify']), /^ledger +holds$/m)

  tamper(`update journal set body = replace(body, '1', '2') where seq = 2`)
  const broken = await sluice.run(['verify'])
  assert.equal(broken.code, 1)
  assert.match(broken.output, /^ledger +DOES NOT HOLD\n[^]*^- .*hash/m)
})

test('a second relay on the same directory says who has it, and a killed one leaves it free', async (t) => {
  const house = await openHouse(t)
  const second = new CommandLine(house.dataDir, { PORT: '1' })
  const line = await second.failure(['serve'])
  assert.match(line, new RegExp(`in use by sluice serve \\(pid ${house.relay.pid} on .*, since .*, version`))
  assert.match(line, /stop that one first, or set DATA_DIR/)

  const group = ['account', 'list']
  await house.kill()
  assert.deepEqual(await second.json(group), { data: [], next: null })
  await house.restart()
  assert.deepEqual(await second.json(group), { data: [], next: null })
})
