// @backend both
// @suite all – restarts the relay many times
/** `sluice rotate-key`: interrupted, resumed and finished, while the relay runs and while it is stopped. */

import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { openDataKeys } from '../../../src/db/data-keys.ts'
import type { Db } from '../../../src/db/db.ts'
import { owners } from '../../../src/db/schema/schema.ts'
import { sealedColumns } from '../../../src/db/sealed-columns.ts'
import { createSealer } from '../../../src/lib/encryption.ts'
import { requestControl } from '../../../src/process/control-socket.fixture.ts'
import type { RotationStep } from '../../../src/process/key-rotation/key-rotation.ts'
import { chatRequest, type Account } from '../../support/server/account.ts'
import { CommandLine } from '../../support/server/command-line.ts'
import { openDatabase } from '../../support/server/database-access.ts'
import { startTestServer, type TestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const [first, second] = ['the first passphrase', 'the second passphrase']
const before = { ENCRYPTION_KEY: first }
const both = { ENCRYPTION_KEY: second, ENCRYPTION_KEY_PREVIOUS: first }
const afterwards = { ENCRYPTION_KEY: second }

function commandLine({ relay }: TestServer, env: Record<string, string> = {}): CommandLine {
  const { dataDir, port, clusterSettings } = relay
  return new CommandLine(dataDir, { PORT: String(port), ...clusterSettings, ...env })
}

/** One step of the rotation, as the command sends it. */
async function step({ dataDir }: TestServer, body: object): Promise<RotationStep> {
  const { status, text } = await requestControl(dataDir, {
    method: 'POST',
    path: '/api/admin/rotate-key',
    body,
  })
  assert.equal(status, 200, text)
  return JSON.parse(text) as RotationStep
}

/** Sends steps until one seals a single value again, or all of them. */
async function sealOneAgain(server: TestServer): Promise<void> {
  let state = await step(server, { begin: true, max_rows: 1 })
  while (state.resealed === 0) state = await step(server, { max_rows: 1 })
  assert.deepEqual([state.phase, state.resealed], ['resealing', 1])
}

async function withDatabase<Result>(server: TestServer, use: (db: Db) => Promise<Result>): Promise<Result> {
  const database = await openDatabase(server.relay)
  try {
    return await use(database.db)
  } finally {
    await database.close()
  }
}

/** Fills every sealed column of a relay with an upstream. The relay is stopped afterwards. */
async function sealEverything(server: TestServer, env: Record<string, string>): Promise<void> {
  const proxy = 'http://ann:proxy-password@127.0.0.1:9'
  const { id } = await server.upstreamAt('http://127.0.0.1:9/v1', {
    proxy,
    headers: { 'x-tenant': 'tenant-0123456789' },
  })
  await server.admin('POST', `/upstreams/${id}/credentials`, {
    credential: 'sk-spare-0123456789',
    label: 'spare',
  })
  const address = 'https://hooks.example.com/path-of-the-hook'
  await server.admin('POST', '/channels', { name: 'hook', kind: 'webhook', address })
  await server.stop()
  const { dataDir, databaseUrl } = server.relay
  await withDatabase(server, async (db) => {
    const sources = {
      dataDir,
      databaseUrl: databaseUrl ?? null,
      encryptionKey: env['ENCRYPTION_KEY'] ?? null,
      encryptionKeyPrevious: null,
    }
    const sealer = createSealer((await openDataKeys(db, sources)).bytes)
    await db.write(
      {
        sql: `insert into persons (id, email, email_normalised, name, role, language, totp_secret, created_at, updated_at)
          values ('usr_1', 'a@example.com', 'a@example.com', '', 'operator', 'en', ?, 0, 0)`,
        parameters: [sealer.seal('totp-secret', 'usr_1')],
      },
      {
        sql: `insert into settings (name, value) values ('demo_key', ?)`,
        parameters: [sealer.seal('demo-key', 'demo_key')],
      },
    )
  })
}

const bytesColumns = new Set(['kept_answers.answer', 'response_items.item'])

/** All sealed values, by column, with their beginnings: of texts 12 characters, of bytes 12 bytes. */
async function findSealedValues(db: Db): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>()
  for (const table of Object.keys(owners)) {
    for (const row of await db.all<Record<string, unknown>>({
      sql: `select * from ${table}`,
      parameters: [],
    })) {
      if (table === 'settings' && String(row['name']).startsWith('data_key')) continue
      for (const [column, value] of Object.entries(row)) {
        const name = `${table}.${column}`
        const isResponse = bytesColumns.has(name) && value instanceof Uint8Array
        const text = isResponse ? Buffer.from(value).toString('latin1') : value
        if (typeof text !== 'string' || !(isResponse || /^s\d\./.test(text))) continue
        found.set(name, (found.get(name) ?? new Set()).add(text.slice(0, 12)))
      }
    }
  }
  return found
}

async function startPopulated(t: TestContext, env: Record<string, string>) {
  const server = await startTestServer(t, { env })
  const upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 1000 }))
  await server.model('m', { upstreams: [upstream] })
  const account = await server.account({ balance: '1' })
  const send = async (key?: string): Promise<string> => {
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
    const response = await account.post(chatRequest('m'), { headers })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return text
  }
  const requestsOf = (): number => upstream.requests.length
  return { server, account, send, requestsOf }
}

async function assertReplays(
  { send, requestsOf }: { send: (key: string) => Promise<string>; requestsOf: () => number },
  key: string,
  text: string,
): Promise<void> {
  const sent = requestsOf()
  assert.equal(await send(key), text)
  assert.equal(requestsOf(), sent, 'the upstream was called again')
}

async function assertConsistent(server: TestServer, account: Account): Promise<void> {
  assert.partialDeepStrictEqual(await server.verify(), { ok: true, drift: '0', open_holds: 0 })
  assert.equal(Number(await account.held()), 0)
}

describe('sluice rotate-key', () => {
  test('Rotation – survives kills, needs both keys until it is finished, and misses no value', async (t) => {
    const relay = await startPopulated(t, before)
    const { server, account, send } = relay
    const stored = await send('before')
    const response = await account.post({ model: 'm', input: 'Hi' }, { path: '/v1/responses' })
    assert.equal(response.status, 200, await response.text())
    await sealEverything(server, before)
    await server.restart(before)
    assert.match(
      await commandLine(server).expectFailure(['rotate-key']),
      /There is no new key to rotate to.* set ENCRYPTION_KEY to a new key and ENCRYPTION_KEY_PREVIOUS/i,
    )
    await server.restart(both)
    await send()
    const doctor = async () => (await commandLine(server, both).run(['doctor', '--no-calls'])).output
    assert.match(await doctor(), /^warn +encryption key +ENCRYPTION_KEY is not in use yet/m)

    await sealOneAgain(server)
    await assertReplays(relay, 'before', stored)
    const meanwhile = await send('meanwhile')
    assert.match(await doctor(), /^warn +encryption key +the rotation that began at \S+ is unfinished/m)
    await server.kill()
    // The old key alone still works.
    await server.restart(before)
    await assertReplays(relay, 'meanwhile', meanwhile)
    assert.match(
      await commandLine(server).expectFailure(['rotate-key']),
      /A rotation to another key is unfinished/,
    )
    await server.kill()
    await server.restart(both)
    await sealOneAgain(server)
    await server.kill()
    await server.restart(both)

    const output = await commandLine(server).output(['rotate-key'])
    assert.match(
      output,
      /^\d+ values were sealed again\. No value is left under the old key\. ENCRYPTION_KEY_PREVIOUS can/,
    )
    assert.match(await commandLine(server).output(['rotate-key']), /^0 values were sealed again\./)
    await assertReplays(relay, 'before', stored)
    await assertReplays(relay, 'meanwhile', meanwhile)
    assert.match(await doctor(), /^ok +encryption key +ENCRYPTION_KEY_PREVIOUS can be removed/m)
    await server.restart(afterwards)
    await assertReplays(relay, 'before', stored)
    await send('afterwards')
    await assertConsistent(server, account)
    await server.stop()

    assert.match(
      await commandLine(server, before).expectFailure(['account', 'list']),
      /ENCRYPTION_KEY does not decrypt the stored credentials\. The key was rotated at \S+: set ENCRYPTION_KEY/,
    )
    const found = await withDatabase(server, findSealedValues)
    assert.deepEqual(
      [...found.keys()].toSorted(),
      sealedColumns.map(({ table, column }) => `${table}.${column}`).toSorted(),
    )
    const beginnings = new Set(Array.from(found.values(), (each) => [...each]).flat())
    assert.equal(beginnings.size, 1, [...beginnings].join())
    assert.match([...beginnings].join(), /^s2\.[\w-]{8}\.$/)
    await server.restart(afterwards)
  })

  test('Rotation of a stopped relay – takes effect at the next start', async (t) => {
    const relay = await startPopulated(t, before)
    const { server } = relay
    const stored = await relay.send('before')
    const overHttp = await server.relay.adminResponse('POST', '/rotate-key', { begin: true })
    assert.equal(overHttp.status, 404, 'only commands on the machine may rotate')
    await server.stop()
    assert.match(
      await commandLine(server, both).output(['rotate-key']),
      /ENCRYPTION_KEY_PREVIOUS can be removed/,
    )
    await server.restart(afterwards)
    await assertReplays(relay, 'before', stored)
    await relay.send()
  })

  test('Relay without ENCRYPTION_KEY – gets a new key of its own', async (t) => {
    const relay = await startPopulated(t, {})
    const { server } = relay
    const isAlone = server.relay.databaseUrl === undefined
    const keyFile = join(server.dataDir, 'sealing.key')
    const old = isAlone ? await readFile(keyFile, 'utf8') : ''
    const stored = await relay.send('before')
    await sealOneAgain(server)
    await server.kill()
    await server.restart()
    assert.match(
      await commandLine(server).output(['rotate-key']),
      /No value is left under the old key\. Backups/,
    )
    await assertReplays(relay, 'before', stored)
    if (isAlone) {
      assert.notEqual(await readFile(keyFile, 'utf8'), old)
      const [kept = '', ...others] = (await readdir(server.dataDir)).filter((name) =>
        name.includes('.until-'),
      )
      assert.deepEqual(others, [])
      assert.equal(await readFile(join(server.dataDir, kept), 'utf8'), old)
    }
    await server.restart()
    await assertReplays(relay, 'before', stored)
    await relay.send()
  })

  test('Backups – name the key that they need, and open with both keys after a rotation', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-backup-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const relay = await startPopulated(t, {})
    const { server } = relay
    await server.restart(before)
    const backUp = async (name: string): Promise<string> => {
      const path = join(folder, name)
      const made = await commandLine(server).json<{ sealed_by: string }>(['backup', path])
      assert.equal(made.sealed_by, 'ENCRYPTION_KEY')
      assert.deepEqual((await readdir(path)).toSorted(), ['manifest.json', 'sluice.db'])
      return path
    }
    const check = (env: Record<string, string>, path: string) =>
      new CommandLine(join(folder, 'data'), env).run(['restore', '--check', path])
    const earlier = await backUp('earlier')
    // Retires the key file that the relay had at first, which opens earlier copies of the data key.
    if (server.relay.databaseUrl === undefined) {
      await commandLine(server).output(['rotate-key'])
      assert.ok(!(await readdir(server.dataDir)).includes('sealing.key'))
    }
    await server.restart(both)
    await sealOneAgain(server)
    const during = await backUp('during')
    await commandLine(server).output(['rotate-key'])
    const later = await backUp('later')
    const opening = async (path: string): Promise<boolean[]> =>
      Promise.all([before, both, afterwards].map(async (env) => (await check(env, path)).code === 0))
    assert.deepEqual(await opening(earlier), [true, true, false])
    assert.deepEqual(await opening(during), [true, true, true])
    assert.deepEqual(await opening(later), [false, true, true])
    assert.match((await check(afterwards, earlier)).errors.join(), /set ENCRYPTION_KEY_PREVIOUS to it/)
  })
})
