/** Several statements in one flight, on a real PostgreSQL. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openClient } from './connection.ts'
import { fly, type Step } from './pipeline.ts'
import { startPostgres, withoutPostgres } from './postgres.fixture.ts'
import { arrayText, copyText } from './sql-text.ts'

const steps = {
  make: { name: 'make', text: 'create temp table things (id bigint primary key, name text)' },
  copy: { name: 'copy', text: 'copy things (id, name) from stdin' },
  read: { name: 'read', text: 'select id, name from things where name = any($1::text[]) order by id' },
  count: { name: 'count', text: 'select count(*) from things' },
} as const satisfies Record<string, Step>

test(
  'whatever options the address has, ours hold; a flight tells the rows of each statement in their order, also where it copies; after an error nothing of it is done',
  { skip: withoutPostgres },
  async (t) => {
    const server = await startPostgres()
    t.after(() => server.remove())
    // An operator's own options go beside ours, which hold.
    const url = `${await server.database()}?options=-c%20search_path%3Dmine,public%20-c%20jit%3Don`
    const client = await openClient({ url, name: 'test', statementMs: 20_000 })
    const { rows: settings } = await client.query(
      `select current_setting('search_path') as path, current_setting('jit') as jit`,
    )
    assert.deepEqual(settings, [{ path: 'mine,public', jit: 'off' }])
    t.after(() => client.end())
    await fly(client, [{ step: steps.make }])
    const odd = ['', 'null', '\\N', '\\.', 'a\tb\nc\rd\\e"f{g},h', '€😀', 'z\0']
    const rows = copyText([...odd.map((name, id) => ({ id, name })), { id: 99, name: null }], ['id', 'name'])
    const first = await fly(client, [
      { step: steps.copy, rows },
      { step: steps.read, values: [arrayText(odd)] },
    ])
    const found = odd.map((name, id) => [String(id), name.replace('\0', '\uFFFD')])
    assert.deepEqual(first, [[], found])
    assert.deepEqual(await fly(client, [{ step: steps.count }, { step: steps.count }]), [[['8']], [['8']]])
    const again = [{ step: steps.copy, rows: '100\ta\n' }, { step: steps.copy, rows }, { step: steps.count }]
    await assert.rejects(fly(client, again), { code: '23505' })
    assert.deepEqual(await fly(client, [{ step: steps.count }]), [[['8']]])
  },
)
