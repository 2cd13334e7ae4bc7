/** The command line where its cluster's database is away, or has never been filled: it says what to do. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openClient, runTexts } from '../src/db/postgres/connection.ts'
import { withoutPostgres } from '../src/db/postgres/postgres.fixture.ts'
import { openCluster } from './cluster.ts'
import { CommandLine, commandsOf } from './support/server/command-line.ts'

const skip = withoutPostgres

test(
  'while PostgreSQL is away a command names it, and the doctor, whether the node runs or not',
  { skip },
  async (t) => {
    const { house, postgres, url } = await openCluster(t, 1)
    const sluice = commandsOf(house.relay)
    const place = `PostgreSQL at ${new URL(url).host}`
    await postgres.stop()
    for (const words of [['node', 'list'], ['verify'], ['account', 'list']]) {
      const told = await sluice.failure(words)
      assert.equal(
        told,
        `sluice: The relay cannot work with ${place} (DATABASE_URL) at the moment. sluice doctor tells more.`,
      )
    }
    await house.kill()
    const folder = join(house.dataDir, 'backup')
    for (const words of [['node', 'list'], ['verify'], ['admin', 'link'], ['backup', folder]]) {
      const told = await sluice.failure(words)
      assert.ok(told.startsWith(`sluice: ${place} cannot be had (DATABASE_URL: `), told)
      assert.ok(told.endsWith('). sluice doctor tells more.'), told)
    }
    await postgres.start()
  },
)

test(
  'of a database without a Sluice a command says so, and leaves it empty; the first start makes it',
  { skip },
  async (t) => {
    const { postgres } = await openCluster(t, 1)
    const dataDir = await mkdtemp(join(tmpdir(), 'sluice-cli-'))
    t.after(() => rm(dataDir, { recursive: true, force: true }))
    const url = await postgres.database()
    const sluice = new CommandLine(dataDir, { DATABASE_URL: url })
    for (const words of [['verify'], ['backup', join(dataDir, 'backup')], ['node', 'list']]) {
      const told = await sluice.failure(words)
      assert.match(told, /There is no Sluice in this database of PostgreSQL at .* Start the relay once/)
    }
    const doctor = await sluice.output(['doctor'])
    assert.match(doctor, /^warn +database +there is no Sluice in it\n +→ The first start makes it/m)
    const client = await openClient({ url, name: 'tests', statementMs: 20_000 })
    t.after(() => client.end())
    const tables = `select tablename from pg_catalog.pg_tables where schemaname = 'public'`
    assert.deepEqual(await runTexts(client, tables), [[]])

    await sluice.output(['account', 'create', 'ann@example.com'])
    await sluice.output(['node', 'list'])
    assert.match(await sluice.output(['verify']), /^ledger +holds$/m)
  },
)

test('the doctor says which of the nodes is the one in its DATA_DIR', { skip }, async (t) => {
  const { nodes } = await openCluster(t, 2)
  const ids: string[] = []
  for (const node of nodes) {
    const sluice = commandsOf(node)
    const told = await sluice.output(['doctor', '--no-calls'])
    const [, id = ''] = /^ok +node +(node_\w+) in sluice node list$/m.exec(told) ?? []
    assert.match(await sluice.output(['node', 'list']), new RegExp(`^${id} .* running `, 'm'))
    ids.push(id)
  }
  const [one, other] = ids
  assert.ok(one && other && one !== other)
  const [stopped] = nodes
  assert.ok(stopped)
  await stopped.kill()
  const sluice = commandsOf(stopped)
  assert.match(await sluice.output(['doctor', '--no-calls']), new RegExp(`^ok +node +${one} `, 'm'))
  await writeFile(join(stopped.dataDir, 'node.db'), 'this is no database')
  const { code, output } = await sluice.run(['doctor', '--no-calls'])
  assert.equal(code, 1)
  assert.match(output, /^fail +node .*node\.db does not open/m)
})
