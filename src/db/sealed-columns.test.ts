import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readSources } from '../../test/support/source-files.ts'
import { appendDataKey, createSealer, generateDataKey } from '../lib/encryption.ts'
import { countOtherwiseSealed, firstPosition, resealBatch, sealedColumns } from './sealed-columns.ts'
import { getSetting, setSetting } from './settings.ts'
import { openTemporaryDb } from './store.fixture.ts'

/** The modules that seal values, and the columns that these are written to. Others seal through `storedResponses`. */
const sealingModules: Readonly<Record<string, readonly string[]>> = {
  'src/catalog/added-fields.ts': ['upstreams.headers'],
  'src/catalog/credentials.ts': ['upstream_credentials.credential'],
  'src/catalog/upstream-fields.ts': ['upstreams.credential', 'upstreams.proxy'],
  'src/catalog/upstreams.ts': ['upstreams.credential'],
  'src/usage/response-items.ts': ['response_items.item'],
  'src/usage/stored-responses.ts': ['kept_answers.answer'],
  'src/notifications/channels.ts': ['channels.target'],
  // Callers keep summaries: the key before the current one still opens them.
  'src/relay/request/compaction-request.ts': [],
  'src/process/demo/demo.ts': ['settings.value'],
  'src/users/two-factor.ts': ['persons.totp_secret'],
}

describe('sealed columns', () => {
  test('modules that seal values – write only columns that a rotation seals again', () => {
    const sealing = readSources()
      .filter(({ path }) => /^src\/(?!db\/sealed-columns).*(?<!\.test|\.fixture)\.ts$/.test(path))
      .filter(({ uncommented }) => /(?<!storedResponses)\.seal(?:Bytes)?\(/.test(uncommented))
      .map(({ path }) => path)
    assert.deepEqual(
      sealing.toSorted(),
      Object.keys(sealingModules).toSorted(),
      'add the module here, and what it seals to sealedColumns in src/db/sealed-columns.ts',
    )
    assert.deepEqual(
      new Set(Object.values(sealingModules).flat()),
      new Set(sealedColumns.map(({ table, column }) => `${table}.${column}`)),
    )
  })

  test('resealed batch – goes on after the last row, and leaves and names what no key opens', async (t) => {
    const db = await openTemporaryDb(t)
    const first = generateDataKey()
    const old = createSealer(first)
    const insert = (id: string, credential: string) => ({
      sql: `insert into upstreams (id, name, provider, base_url, credential, priority, weight, timeouts, on_abort, enabled,
        settings, created_at, updated_at) values (?, ?, 'openai', 'https://a.example', ?, 1, 1, '{}', 'cancel', 1, '{}', 0, 0)`,
      parameters: [id, id, credential],
    })
    await db.write(
      insert('ups_1', old.seal('one', 'ups_1')),
      insert('ups_2', createSealer(generateDataKey()).seal('lost', 'ups_2')),
      insert('ups_3', old.seal('three', 'ups_3')),
    )
    await setSetting(db, 'demo_key', old.seal('demo', 'demo_key'))
    await setSetting(db, 'another', 'not sealed')
    const sealer = createSealer(appendDataKey(first))
    assert.equal(await countOtherwiseSealed(db, old), 0)
    assert.equal(await countOtherwiseSealed(db, sealer), 4)
    const one = await resealBatch(db, sealer, firstPosition, 1)
    assert.deepEqual(one, { resealed: 1, next: { column: 0, key: ['ups_1'] }, unreadable: [] })
    const rest = await resealBatch(db, sealer, one.next ?? firstPosition)
    assert.partialDeepStrictEqual(rest, { resealed: 1, unreadable: ['upstreams.credential of ups_2'] })
    const last = await resealBatch(db, sealer, rest.next ?? firstPosition)
    assert.equal(last.resealed, 1)
    assert.equal((await resealBatch(db, sealer, last.next ?? firstPosition)).next, null)
    assert.equal(await countOtherwiseSealed(db, sealer), 1)
    const rows = await db.all<{ id: string; credential: string }>({
      sql: `select id, credential from upstreams where id <> 'ups_2' order by id`,
      parameters: [],
    })
    assert.deepEqual(
      rows.map(({ id, credential }) => sealer.unseal(credential, id)),
      ['one', 'three'],
    )
    assert.equal(sealer.unseal((await getSetting(db, 'demo_key')) ?? '', 'demo_key'), 'demo')
    assert.equal(await getSetting(db, 'another'), 'not sealed')
  })
})
