/** The command line, against a running relay, a stopped one and a killed one. */

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import { CommandLine, commandsOf } from './support/server/command-line.ts'
import { openHouse, type House } from './support/server/test-server.ts'
import { openUpstream, type ScriptedUpstream } from './support/upstream/scripted-upstream.ts'
import { saying } from './support/upstream/scripted-responses.ts'

interface Named {
  readonly id: string
}
interface Made {
  readonly upstream: string
  readonly model: string
  readonly email: string
  readonly key: string
  readonly secret: string
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-cli-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

async function chat(house: House, { secret, model }: Made): Promise<number> {
  const reply = await fetch(`${house.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  await reply.arrayBuffer()
  return reply.status
}

const wordsOfGroups = {
  account: ['create', 'list', 'show', 'credit', 'set'],
  key: ['create', 'list', 'disable', 'enable', 'delete'],
  upstream: [
    'add',
    'list',
    'test',
    'enable',
    'disable',
    'remove',
    'health',
    'credentials',
    'credential-add',
    'credential-remove',
  ],
  model: ['add', 'list', 'set', 'price', 'remove'],
}
const commands = [
  'serve',
  'doctor',
  'verify',
  'backup',
  'restore',
  'route',
  'seed',
  'docs',
  ...Object.entries(wordsOfGroups).flatMap(([group, words]) => words.map((word) => `${group} ${word}`)),
]

test('every command tells its use, with an example, and has --json', async (t) => {
  const sluice = new CommandLine(await folder(t))
  const helps = await Promise.all(commands.map((words) => sluice.output([...words.split(' '), '--help'])))
  for (const [index, help] of helps.entries()) {
    const name = commands[index] ?? ''
    assert.ok(help.includes(`Usage: sluice ${name} `), help)
    assert.match(help, /^ +--json /m, name)
    assert.ok(help.includes(`$ sluice ${name}`), `${name} has no example`)
  }
  const [all, account, byHelp] = await Promise.all([
    sluice.output(['--help']),
    sluice.output(['account', '--help']),
    sluice.output(['help', 'account', 'set']),
  ])
  for (const name of commands) {
    const [group = '', word = group] = name.split(' ')
    assert.match(all, new RegExp(`^  ${group} `, 'm'))
    if (group === 'account') assert.match(account, new RegExp(`^  ${word} `, 'm'))
  }
  assert.equal(byHelp, await sluice.output(['account', 'set', '--help']))
})

test('every option is told in words, and those that a command cannot do without say so', async (t) => {
  const sluice = new CommandLine(await folder(t))
  const helps = await Promise.all(commands.map((words) => sluice.output([...words.split(' '), '--help'])))
  for (const help of helps) assert.doesNotMatch(help, /^ {2}(-|\w)\S*( <[^>]+>)?$/m)
  assert.match(await sluice.output(['key', 'create', '--help']), /--name <text> +to tell .* \(required\)$/m)
  assert.match(await sluice.output(['model', 'add', '--help']), /--context <tokens> .* \(required\)$/m)
  assert.match(await sluice.output(['verify', '--help']), /the ledger from its journal/)
})

test('wrong usage ends with 2 and one line, a failure with 1 and one line', async (t) => {
  const path = await folder(t)
  const sluice = new CommandLine(path)
  const [unknown, missing, number, credential, nothing, empty, wrong] = await Promise.all([
    sluice.failure(['acount', 'list'], 2),
    sluice.failure(['account', 'credit', 'acc_1', '5'], 2),
    sluice.failure(['account', 'set', 'acc_1', '--rpm', 'many'], 2),
    sluice.failure(['upstream', 'add', 'x', '--provider', 'openai', '--credential', 'sk-secret'], 2),
    sluice.failure(['account', 'set', 'acc_1'], 2),
    sluice.failure(['account', 'list']),
    new CommandLine(path, { PORT: 'http' }).failure(['verify']),
  ])
  assert.match(unknown, /^sluice: unknown command 'acount' \(Did you mean account\?\)/)
  assert.match(missing, /--reason/)
  assert.match(number, /whole number/)
  assert.match(credential, /--credential-file/)
  assert.doesNotMatch(credential, /sk-secret/)
  assert.match(nothing, /Say what to set/)
  assert.match(empty, /There is no database in .*DATA_DIR/)
  assert.match(wrong, /^sluice: PORT is not valid; allowed: /)
})

/** One round through everything that is administered, whether the relay runs or not: a key that may call a model. */
async function administer(sluice: CommandLine, upstream: ScriptedUpstream, tag: string): Promise<Made> {
  const name = `up-${tag}`
  const address = ['--provider', 'openai-compatible', '--base-url', upstream.url, '--credential-stdin']
  const added = await sluice.json<Named & { credential?: string }>(
    ['upstream', 'add', name, ...address],
    'sk-upstream\n',
  )
  assert.equal(added.credential, undefined)
  assert.match(await sluice.output(['upstream', 'list']), new RegExp(`${added.id}  ${name} .* yes`))

  const model = `model-${tag}`
  const prices = ['--input', '0.002', '--output', '0.002']
  await sluice.output(['model', 'add', model, '--context', '8192', ...prices, '--route', `${name}=small`])
  assert.match(await sluice.output(['upstream', 'test', name]), new RegExp(`^${name}: `))
  assert.equal(upstream.requests.at(-1)?.json['model'], 'small')
  assert.equal(upstream.requests.at(-1)?.headers['authorization'], 'Bearer sk-upstream')
  const dearer = ['--input', '0.002', '--output', '0.004']
  const priced = await sluice.json<{ prices: object }>(['model', 'price', model, ...dearer])
  assert.partialDeepStrictEqual(priced.prices, { input: '0.002', output: '0.004' })
  await sluice.output(['model', 'set', model, '--no-listed'])
  assert.match(await sluice.output(['model', 'list']), new RegExp(`${model} .* no .* ${name}=small`))

  await sluice.output(['upstream', 'disable', name])
  const diagnosis = await sluice.output(['doctor', '--no-calls'])
  assert.match(diagnosis, new RegExp(`warn  models .* only on disabled upstreams: ${model}`))
  await sluice.output(['upstream', 'enable', name])
  return { upstream: name, model, ...(await administerPeople(sluice, model, tag)) }
}

async function administerPeople(
  sluice: CommandLine,
  model: string,
  tag: string,
): Promise<Pick<Made, 'email' | 'key' | 'secret'>> {
  const email = `${tag}@example.com`
  const account = await sluice.json<Named>(['account', 'create', email, '--tier', 'enterprise'])
  const credit = ['account', 'credit', email, '5', '--reason', 'welcome', '--idempotency-key', tag]
  assert.equal(await sluice.output(credit), '5 is credited; the balance is 5.\n')
  assert.equal(await sluice.output(credit), '5 is credited; the balance is 5.\n')
  await sluice.failure(['account', 'credit', email, '-6', '--reason', 'too much'])
  await sluice.output(['account', 'set', email, '--daily-cap', '3', '--rpm', '100'])
  const shown = await sluice.json<object>(['account', 'show', account.id])
  assert.partialDeepStrictEqual(shown, { available: '3', caps: { daily: '3', monthly: null } })
  assert.match(await sluice.output(['account', 'list']), new RegExp(`${account.id}  ${email} .* 5$`, 'm'))

  const made = await sluice.output([
    'key',
    'create',
    email,
    '--name',
    'laptop',
    '--model',
    `${model},other-*`,
  ])
  const secret = /^sk-\S+$/m.exec(made)?.[0] ?? assert.fail(made)
  const keys = await sluice.json<{ data: Named[] }>(['key', 'list', account.id])
  assert.ok(!JSON.stringify(keys).includes(secret))
  const all = await sluice.output(['key', 'list', '--all', '--find', secret.slice(0, 11)])
  assert.match(all, new RegExp(`${keys.data[0]?.id}  ${email}  laptop  .* active `))
  assert.match(await sluice.failure(['key', 'list', 'acc_none']), /no such account/)
  assert.match(await sluice.failure(['key', 'list'], 2), /Name an account, or say --all/)
  return { email, key: keys.data[0]?.id ?? '', secret }
}

async function takeAway(sluice: CommandLine, made: Made): Promise<void> {
  await sluice.output(['key', 'delete', made.key])
  assert.deepEqual((await sluice.json<{ data: [] }>(['key', 'list', made.email])).data, [])
  assert.match(await sluice.failure(['upstream', 'remove', made.upstream]), new RegExp(made.model))
  await sluice.output(['model', 'remove', made.model])
  await sluice.output(['upstream', 'remove', made.upstream])
}

async function openOne(t: TestContext): Promise<ScriptedUpstream> {
  const upstream = await openUpstream(saying('Hi!'))
  t.after(() => upstream.close())
  return upstream
}

test('everything is administered while the relay runs, which heeds it at once', async (t) => {
  const house = await openHouse(t)
  const sluice = commandsOf(house.relay)
  const made = await administer(sluice, await openOne(t), 'running')
  assert.equal(await chat(house, made), 200)
  await sluice.output(['key', 'disable', made.key])
  assert.equal(await chat(house, made), 401)
  await sluice.output(['key', 'enable', made.key])
  assert.equal(await chat(house, made), 200)

  const diagnosis = await sluice.json<{ ok: boolean; findings: { name: string; state: string }[] }>([
    'doctor',
  ])
  assert.equal(diagnosis.ok, true)
  assert.deepEqual(
    diagnosis.findings.filter(({ state }) => state === 'fail'),
    [],
  )
  assert.deepEqual(await sluice.json(['verify']), await house.verify())
  await takeAway(sluice, made)
  assert.equal(await chat(house, made), 401)
  await house.nothingHeld()
})

test('everything is administered while the relay is stopped, and stands when it starts', async (t) => {
  const house = await openHouse(t)
  await house.stop()
  const sluice = commandsOf(house.relay)
  const made = await administer(sluice, await openOne(t), 'stopped')
  assert.match(await sluice.output(['doctor']), /^ok +relay +none is running/m)
  assert.match(await sluice.output(['verify']), /^ledger +holds$/m)
  await house.restart()
  assert.equal(await chat(house, made), 200)
  await house.stop()
  await takeAway(sluice, made)
  await house.restart()
  await house.nothingHeld()
})

test('the reference models are shown first, added when asked for, and live only when said', async (t) => {
  const dataDir = join(await folder(t), 'data')
  const sluice = new CommandLine(dataDir)
  interface Seeded {
    readonly applied: boolean
    readonly models: { id: string; exists: boolean }[]
  }
  const plan = await sluice.json<Seeded>(['seed'])
  assert.equal(plan.applied, false)
  const shown = await sluice.output(['seed'])
  assert.match(shown, /Nothing is changed yet: --yes/)
  assert.match(shown, /^family-a-small .* list +- +new$/m)
  await sluice.failure(['model', 'list'])

  await sluice.output(['upstream', 'add', 'mine', '--provider', 'openai', '--no-credential'])
  const one = ['--only', 'family-a-small', '--upstream', 'mine', '--name', 'family-a-small=small-v2']
  assert.match(await sluice.output(['seed', ...one, '--live', '--yes']), /small-v2 +added$/m)
  const rest = await sluice.json<Seeded>(['seed', '--yes'])
  assert.deepEqual(
    rest.models.filter(({ exists }) => exists).map(({ id }) => id),
    ['family-a-small'],
  )
  const { data } = await sluice.json<{ data: { id: string; listed: boolean }[] }>(['model', 'list'])
  assert.equal(data.length, plan.models.length)
  assert.deepEqual(
    data.filter(({ listed }) => listed).map(({ id }) => id),
    ['family-a-small'],
  )
  assert.match(await sluice.failure(['seed', '--upstream', 'other']), /no such upstream/)
})

test('the doctor ends with 1 and says what to do where something is wrong', async (t) => {
  const dataDir = await folder(t)
  await writeFile(join(dataDir, 'sluice.db'), 'this is no database')
  const { code, output, errors } = await new CommandLine(dataDir).run(['doctor'])
  assert.equal(code, 1)
  assert.match(output, /^fail +database .* does not open.*\n +→ .*sluice restore/m)
  assert.match(errors.join(), /^sluice: 1 of \d+ checks failed\.$/)

  const wrong = await new CommandLine(dataDir, { WORKERS: 'none' }).run(['doctor', '--json'])
  assert.equal(wrong.code, 1)
  assert.match(
    wrong.output,
    /"name": "configuration",\n +"state": "fail",\n +"detail": "WORKERS is not valid/,
  )
})
