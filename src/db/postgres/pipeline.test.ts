/** Pipelined statements on a real PostgreSQL. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openClient } from './connection.ts'
import { runPipelined, type PreparedStatement } from './pipeline.ts'
import { startPostgres, postgresSkipReason } from './postgres.fixture.ts'
import { formatArray, formatCopyRows } from './sql-text.ts'

const statements = {
  make: { name: 'make', text: 'create temp table things (id bigint primary key, name text)' },
  copy: { name: 'copy', text: 'copy things (id, name) from stdin' },
  read: { name: 'read', text: 'select id, name from things where name = any($1::text[]) order by id' },
  count: { name: 'count', text: 'select count(*) from things' },
} as const satisfies Record<string, PreparedStatement>

describe('runPipelined', () => {
  test(
    'results – come in statement order, also of copies; after an error nothing is executed',
    { skip: postgresSkipReason },
    async (t) => {
      const server = await startPostgres()
      t.after(() => server.remove())
      // An operator's options are added, but ours take precedence.
      const url = `${await server.createDatabase()}?options=-c%20search_path%3Dmine,public%20-c%20jit%3Don`
      const client = await openClient({ url, name: 'test', statementMs: 20_000 })
      const { rows: settings } = await client.query(
        `select current_setting('search_path') as path, current_setting('jit') as jit`,
      )
      assert.deepEqual(settings, [{ path: 'mine,public', jit: 'off' }])
      t.after(() => client.end())
      await runPipelined(client, [{ statement: statements.make }])
      const odd = ['', 'null', '\\N', '\\.', 'a\tb\nc\rd\\e"f{g},h', '€😀', 'z\0']
      const rows = formatCopyRows(
        [...odd.map((name, id) => ({ id, name })), { id: 99, name: null }],
        ['id', 'name'],
      )
      const first = await runPipelined(client, [
        { statement: statements.copy, copyRows: rows },
        { statement: statements.read, values: [formatArray(odd)] },
      ])
      const found = odd.map((name, id) => [String(id), name.replace('\0', '\uFFFD')])
      assert.deepEqual(first, [[], found])
      assert.deepEqual(
        await runPipelined(client, [{ statement: statements.count }, { statement: statements.count }]),
        [[['8']], [['8']]],
      )
      const again = [
        { statement: statements.copy, copyRows: '100\ta\n' },
        { statement: statements.copy, copyRows: rows },
        { statement: statements.count },
      ]
      await assert.rejects(runPipelined(client, again), { code: '23505' })
      assert.deepEqual(await runPipelined(client, [{ statement: statements.count }]), [[['8']]])
    },
  )
})
