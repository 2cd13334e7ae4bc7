// @backend postgres – starts its own cluster
// @suite all – many commands and an outage
/** The command line of a cluster whose database is unavailable or empty. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { assessConnections } from '../../src/cli/doctor/database.ts'
import { openClient, runScript } from '../../src/db/postgres/connection.ts'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { sharedCluster, type Cluster } from '../support/server/cluster.ts'
import { CommandLine, commandLineFor } from '../support/server/command-line.ts'
import { executeSql } from '../support/server/database-access.ts'

const skip = postgresSkipReason

/** The tests end its nodes one after the other. */
let cluster: Cluster
if (skip === false) cluster = await sharedCluster(2)

describe('Command line with a cluster', () => {
  test('doctor – reports a silent node, and how many connections are in use', { skip }, async () => {
    const [node] = cluster.nodes
    assert.ok(node)
    const insert = `insert into nodes (id, name, version, epoch, state, started_at, seen_at)
      values ('node_gone', 'rack-7', '0', 1, 'running', 0, (extract(epoch from clock_timestamp()) - 100) * 1000)`
    await executeSql(node, insert)
    const output = await commandLineFor(node).output(['doctor', '--no-calls'])
    assert.match(
      output,
      /^warn +nodes +node_gone \(rack-7\) has been silent for 1\d\d s\n +→ .* sluice node retire node_gone\./m,
    )
    assert.match(output, /^ok +connections +\d+ of \d+ connections of PostgreSQL are in use$/m)
    await executeSql(node, `delete from nodes where id = 'node_gone'`)
    assert.deepEqual(
      [assessConnections(79, 100), assessConnections(80, 100)].map(({ state }) => state),
      ['ok', 'warn'],
    )
  })

  test('doctor – names the node of its DATA_DIR', { skip }, async () => {
    const { nodes } = cluster
    const ids: string[] = []
    for (const node of nodes) {
      const sluice = commandLineFor(node)
      const output = await sluice.output(['doctor', '--no-calls'])
      const [, id = ''] = /^ok +node +(node_\w+) \(see sluice node list\)$/m.exec(output) ?? []
      const list = await sluice.output(['node', 'list'])
      const address = `127\\.0\\.0\\.1:${node.port}`
      assert.match(list, new RegExp(`^${id} +\\S+ +${address} .* running .* yes$`, 'm'))
      assert.equal(list.match(/ yes$/gm)?.length, 1)
      ids.push(id)
    }
    const [one, other] = ids
    assert.ok(one && other && one !== other)
    const [stopped] = nodes
    assert.ok(stopped)
    await stopped.kill()
    const sluice = commandLineFor(stopped)
    assert.match(await sluice.output(['doctor', '--no-calls']), new RegExp(`^ok +node +${one} `, 'm'))
    await writeFile(join(stopped.dataDir, 'node.db'), 'this is no database')
    const { code, output } = await sluice.run(['doctor', '--no-calls'])
    assert.equal(code, 1)
    assert.match(output, /^fail +node +Cannot open .*node\.db/m)
  })

  test('Commands on an empty database – say so and leave it empty', { skip }, async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'sluice-cli-'))
    t.after(() => rm(dataDir, { recursive: true, force: true }))
    const url = await cluster.postgres.createDatabase()
    const sluice = new CommandLine(dataDir, { DATABASE_URL: url })
    const commands = [['verify'], ['backup', join(dataDir, 'backup')], ['account', 'create', 'a@b.example']]
    for (const args of commands) {
      const output = await sluice.expectFailure(args, 2)
      assert.match(output, /This database on PostgreSQL at .* has no Sluice data\. Start the relay once/)
    }
    const doctor = await sluice.output(['doctor'])
    assert.match(doctor, /^warn +database +the database has no Sluice data\n +→ The first start creates it/m)
    const client = await openClient({ url, name: 'tests', statementMs: 20_000 })
    t.after(() => client.end())
    const tables = `select tablename from pg_catalog.pg_tables where schemaname = 'public'`
    assert.deepEqual(await runScript(client, tables), [[]])
  })

  test('Commands while PostgreSQL is unavailable – name it and point to doctor', { skip }, async () => {
    const { nodes, postgres, url } = cluster
    const node = nodes[1]
    assert.ok(node)
    const sluice = commandLineFor(node)
    const database = `PostgreSQL at ${new URL(url).host}`
    await postgres.stop()
    const commands = [['node', 'list'], ['verify'], ['account', 'list']]
    for (const output of await Promise.all(commands.map((args) => sluice.expectFailure(args)))) {
      assert.equal(
        output,
        `sluice: The relay cannot use ${database} (DATABASE_URL) at the moment. Run sluice doctor for details.`,
      )
    }
    await node.kill()
    const folder = join(node.dataDir, 'backup')
    for (const args of [['node', 'list'], ['verify'], ['admin', 'link'], ['backup', folder]]) {
      const output = await sluice.expectFailure(args)
      assert.ok(output.startsWith(`sluice: ${database} is unreachable (DATABASE_URL: `), output)
      assert.ok(output.endsWith('). Run sluice doctor for details.'), output)
    }
    await postgres.start()
  })
})
