// @backend both (cluster in long runs)
// @suite all – some fifty commands
/** The command line; commands-stopped.test.ts administers without a relay. */

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { CommandLine, commandLineFor } from '../../support/server/command-line.ts'
import {
  administer,
  chat,
  inspect,
  removeAll,
  startUpstream,
} from '../../support/server/command-line-setup.ts'
import { sharedTestServer, startTestServer } from '../../support/server/test-server.ts'

const server = await sharedTestServer()

async function temporaryFolder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-cli-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

describe('Command line', () => {
  test('Exit code – 2 for wrong usage and 1 for a failure, each with one line', async (t) => {
    const sluice = commandLineFor(server.relay)
    const [unknown, missing, number, credential, nothing, noAccount, wrong] = await Promise.all([
      sluice.expectFailure(['acount', 'list'], 2),
      sluice.expectFailure(['account', 'credit', 'acc_1', '5'], 2),
      sluice.expectFailure(['account', 'set', 'acc_1', '--rpm', 'many'], 2),
      sluice.expectFailure(['upstream', 'add', 'x', '--provider', 'openai', '--credential', 'sk-secret'], 2),
      sluice.expectFailure(['account', 'set', 'acc_1'], 2),
      sluice.expectFailure(['key', 'list'], 2),
      new CommandLine(await temporaryFolder(t), { PORT: 'http' }).expectFailure(['verify']),
    ])
    assert.match(unknown, /^sluice: unknown command 'acount' \(Did you mean account\?\)/)
    assert.match(missing, /--reason/)
    assert.match(number, /whole number/)
    assert.match(credential, /--credential-file/)
    assert.doesNotMatch(credential, /sk-secret/)
    assert.match(nothing, /Nothing to change/)
    assert.match(noAccount, /Name an account or use --all/)
    assert.match(wrong, /^sluice: Invalid PORT: must be /)
  })

  test('Headers and body fields of an upstream – from a file and the command line, never shown', async (t) => {
    const sluice = commandLineFor(server.relay)
    const folder = await temporaryFolder(t)
    const file = join(folder, 'headers.json')
    await writeFile(file, '{"x-team": "secret-team"}')
    const add = ['upstream', 'add', 'added-fields', '--provider', 'openai', '--no-credential']
    const added = await sluice.json<{ header_names: string[]; body: object }>([
      ...add,
      '--headers-file',
      file,
      '--body',
      '{"metadata": {"team": "a"}}',
    ])
    assert.deepEqual([added.header_names, added.body], [['x-team'], { metadata: { team: 'a' } }])
    assert.doesNotMatch(JSON.stringify(added), /secret-team/)
    await sluice.output(['upstream', 'remove', 'added-fields'])
    await writeFile(file, '["x-team: secret-team"]')
    const noObject = await sluice.expectFailure([...add, '--headers-file', file], 2)
    assert.match(noObject, /--headers-file .*must be a JSON object such as/)
    assert.doesNotMatch(noObject, /secret-team/)
    const missing = await sluice.expectFailure([...add, '--headers-file', join(folder, 'none.json')])
    assert.match(missing, /Cannot read .*none\.json \(ENOENT\)/)
    assert.match(await sluice.expectFailure([...add, '--body', '[]'], 2), /--body .*must be a JSON object/)
  })

  test('Administration with the relay running – applies at once', async (t) => {
    const sluice = commandLineFor(server.relay)
    const setup = await administer(sluice, await startUpstream(t), 'running')
    await inspect(sluice, setup)
    assert.equal(await chat(server.url, setup), 200)
    await sluice.output(['key', 'disable', setup.key])
    assert.equal(await chat(server.url, setup), 401)
    await sluice.output(['key', 'enable', setup.key])
    assert.equal(await chat(server.url, setup), 200)

    const diagnosis = await sluice.json<{ ok: boolean; findings: { name: string; state: string }[] }>([
      'doctor',
    ])
    assert.equal(diagnosis.ok, true)
    assert.deepEqual(
      diagnosis.findings.filter(({ state }) => state === 'fail'),
      [],
    )
    assert.deepEqual(await sluice.json(['verify']), await server.verify())
    await removeAll(sluice, setup)
    assert.equal(await chat(server.url, setup), 401)
  })

  test('seed – shows the reference models, adds them with --yes, and lists them with --live', async (t) => {
    const server = await startTestServer(t)
    const sluice = commandLineFor(server.relay)
    interface Seeded {
      readonly applied: boolean
      readonly models: { id: string; exists: boolean }[]
    }
    const plan = await sluice.json<Seeded>(['seed'])
    assert.equal(plan.applied, false)
    const shown = await sluice.output(['seed'])
    assert.match(shown, /Prices are in CNY .* Nothing has been changed: use --yes/)
    assert.match(shown, /^family-a-small .* list +- +new$/m)

    await sluice.output(['upstream', 'add', 'mine', '--provider', 'openai', '--no-credential'])
    const one = ['--only', 'family-a-small', '--upstream', 'mine', '--name', 'family-a-small=small-v2']
    const seedOne = ['seed', ...one, '--expose-model', '--live', '--yes']
    assert.match(await sluice.output(seedOne), /small-v2 +added$/m)
    const seeded = await sluice.json<Seeded>(['seed', '--yes'])
    assert.deepEqual(
      seeded.models.filter(({ exists }) => exists).map(({ id }) => id),
      ['family-a-small'],
    )
    interface Model {
      id: string
      listed: boolean
      routes: { expose_model: boolean }[]
    }
    const { data } = await sluice.json<{ data: Model[] }>(['model', 'list'])
    assert.equal(data.length, plan.models.length)
    assert.deepEqual(
      data.filter(({ listed }) => listed).map(({ id }) => id),
      ['family-a-small'],
    )
    assert.equal(data.find(({ id }) => id === 'family-a-small')?.routes[0]?.expose_model, true)
    const set = ['model', 'set', 'family-a-small', '--route', 'mine=small-v2']
    assert.equal((await sluice.json<Model>(set)).routes[0]?.expose_model, false)
    assert.equal((await sluice.json<Model>([...set, '--expose-model'])).routes[0]?.expose_model, true)
    const cost = { input: '0.001', output: '0.002', currency: 'USD', rate: '7' }
    const weighted = { upstream: 'mine', model: 'small-v2', priority: 2, weight: 3, cost }
    await server.admin('PATCH', '/models/family-a-small', { routes: [weighted] })
    const both = await sluice.json<Model>([...set, '--route', 'mine=small-v3'])
    assert.partialDeepStrictEqual(both.routes, [
      { priority: 2, weight: 3, cost },
      { priority: null, weight: null, cost: null },
    ])
    interface Costs {
      models: { prices: object; routes: { cost: object }[] }[]
    }
    const fromOpenAI = ['seed', '--from', 'openai', '--upstream', 'mine']
    assert.match(await sluice.expectFailure(fromOpenAI), /the price of one USD in CNY/)
    const fromList = await sluice.json<Costs>([...fromOpenAI, '--rate', '7.2'])
    assert.ok(fromList.models.length > 0)
    for (const { prices, routes } of fromList.models) assert.deepEqual(routes[0]?.cost, prices)
    assert.match(await sluice.expectFailure(['seed', '--upstream', 'other']), /Upstream not found/)
  })

  test('doctor – exits with 1 and says what to do about a problem', async (t) => {
    const dataDir = await temporaryFolder(t)
    await writeFile(join(dataDir, 'sluice.db'), 'this is no database')
    const { code, output, errors } = await new CommandLine(dataDir).run(['doctor'])
    assert.equal(code, 1)
    assert.match(output, /^fail +database +Cannot open .*\n +→ .*sluice restore/m)
    assert.match(errors.join(), /^sluice: 1 of \d+ checks failed\.$/)

    const misconfigured = await new CommandLine(dataDir, { WORKERS: 'none' }).run(['doctor', '--json'])
    assert.equal(misconfigured.code, 1)
    assert.match(
      misconfigured.output,
      /"name": "configuration",\n +"state": "fail",\n +"detail": "Invalid WORKERS: must be/,
    )
  })
})
