/** Several credentials of one upstream: spread by weight, and one that is refused rests while the others go on. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { question } from './support/server/account.ts'
import { eventually, recordOf } from './support/client/responses.ts'
import type { Script } from './support/upstream/exchange.ts'
import { commandsOf } from './support/server/command-line.ts'
import { shareHouse, type KnownUpstream } from './support/server/test-server.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'
import { bytesInDatabase } from './support/server/database-access.ts'
import { healthOf } from './support/server/upstream-health.ts'

const house = await shareHouse()
const well = saying('Hello!', { input: 10, output: 5 })
const account = await house.account({ balance: '¥10' })

interface Credential {
  id: string
  label: string
  last_four: string | null
  weight: number
  enabled: boolean
}

/** Answers by the credential that comes. */
function byCredential(scripts: Record<string, Script>): Script {
  return (exchange) => {
    const secret = (exchange.request.headers['authorization'] ?? '').replace('Bearer ', '')
    return (scripts[secret] ?? failing(401))(exchange)
  }
}

function timesUsed(upstream: KnownUpstream, secret: string): number {
  return upstream.requests.filter(({ headers }) => headers['authorization'] === `Bearer ${secret}`).length
}

async function add(upstream: KnownUpstream, fields: object): Promise<Credential> {
  return house.admin('POST', `/upstreams/${upstream.id}/credentials`, fields)
}

async function ask(model: string, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const reply = await account.post(question(model))
    assert.equal(reply.status, 200)
    await reply.arrayBuffer()
  }
}

const [one, two, three] = ['sk-number-one-1111', 'sk-number-two-2222', 'sk-number-three-3333']

test('credentials are shown by their last four characters only, and used by weight', async () => {
  const upstream = await house.upstream(byCredential({ [one]: well, [two]: well }), { credential: one })
  await house.model('spread', { upstreams: [upstream] })
  const added = await add(upstream, { credential: two, label: 'the second', weight: 3 })
  assert.deepEqual(
    { ...added, id: '', created_at: '' },
    { id: '', label: 'the second', last_four: '2222', weight: 3, enabled: true, created_at: '' },
  )
  const { data } = await house.admin<{ data: Credential[] }>('GET', `/upstreams/${upstream.name}/credentials`)
  assert.deepEqual(
    data.map(({ id, last_four: last }) => [id, last]),
    [
      ['main', '1111'],
      [added.id, '2222'],
    ],
  )
  await ask('spread', 100)
  const used = timesUsed(upstream, two)
  assert.ok(used > 55 && used < 95, `${used} of 100`)
  const path = `/upstreams/${upstream.id}/credentials/${added.id}`
  await house.admin('PATCH', path, { enabled: false })
  const before = timesUsed(upstream, two)
  await ask('spread', 10)
  assert.equal(timesUsed(upstream, two), before)
  await house.admin('DELETE', path)
  const told = JSON.stringify([
    await house.admin('GET', '/upstreams'),
    await house.admin('GET', '/upstreams/health'),
    await house.admin('GET', '/audit?limit=50'),
    house.log,
  ])
  const stored = await bytesInDatabase(house.relay)
  assert.ok(stored.includes(upstream.id))
  for (const secret of [one, two]) {
    assert.ok(!told.includes(secret))
    assert.ok(!stored.includes(secret), 'sealed in the database')
  }
})

test('a credential that is refused is replaced within the request, marked, and rests while the others go on', async () => {
  const upstream = await house.upstream(byCredential({ [two]: well, [three]: well }), { credential: one })
  await house.model('refused', { upstreams: [upstream] })
  for (const credential of [two, three]) await add(upstream, { credential })
  await ask('refused', 20)
  assert.equal(timesUsed(upstream, one) <= 2, true, 'once, and perhaps a probe')
  const { state, credentials } = await healthOf(house, upstream.id)
  assert.equal(state, 'closed', 'the upstream itself is well')
  const main = credentials.find(({ id }) => id === 'main')
  assert.equal(main?.state, 'open')
  assert.match(main?.why ?? '', /does not accept/)
  // Mended by the operator: used again at once.
  upstream.always(byCredential({ 'sk-a-new-one-4444': well, [two]: well, [three]: well }))
  await house.admin('PATCH', `/upstreams/${upstream.id}`, { credential: 'sk-a-new-one-4444' })
  await ask('refused', 20)
  assert.ok(timesUsed(upstream, 'sk-a-new-one-4444') > 0)
})

test('one that is out of credit rests for every model, one that is asked too often for that model only', async () => {
  const upstream = await house.upstream(well, { credential: one })
  await add(upstream, { credential: two })
  await house.model('first', { upstreams: [upstream] })
  await house.model('second', { upstreams: [upstream] })
  const busy = failing(429, undefined, { 'retry-after': '60' })
  upstream.always(byCredential({ [one]: busy, [two]: well }))
  await ask('first', 10)
  assert.equal(timesUsed(upstream, one), 1)
  upstream.always(byCredential({ [one]: well, [two]: well }))
  await ask('second', 20)
  assert.ok(timesUsed(upstream, one) > 1, 'for the other model it goes on')
  upstream.always(byCredential({ [one]: failing(402), [two]: well }))
  await eventually('a refusal for want of credit', async () => {
    await ask('second', 1)
    const { credentials } = await healthOf(house, upstream.id, 'second')
    return credentials.some(({ why }) => why === 'It is out of credit.') || undefined
  })
  const { credentials } = await healthOf(house, upstream.id, 'first')
  assert.ok(credentials.some(({ id, state }) => id === 'main' && state !== 'closed'))
})

test('an upstream whose only credential is refused is replaced by the next one', async () => {
  const upstream = await house.upstream(failing(403), { credential: one })
  const next = await house.upstream(well)
  await house.model('only', { upstreams: [upstream, next] })
  const reply = await account.post(question('only'))
  assert.deepEqual(
    (await recordOf(account, reply)).attempts.map(({ upstream: id }) => id),
    [upstream.id, next.id],
  )
  await ask('only', 5)
  assert.equal(upstream.requests.length, 1)
  assert.equal((await healthOf(house, upstream.id)).state, 'open')
})

test('credentials and health are administered from the command line as well', async () => {
  const upstream = await house.upstream(byCredential({ [one]: well, [two]: well }), { credential: one })
  await house.model('by-command', { upstreams: [upstream] })
  const commands = commandsOf(house.relay)
  const words = ['upstream', 'credential-add', upstream.name, '--label', 'spare', '--credential-stdin']
  const { id } = await commands.json<Credential>(words, `${two}\n`)
  assert.match(
    await commands.output(['upstream', 'credentials', upstream.name]),
    /main .*1111[^]*spare .*2222/,
  )
  assert.match(await commands.output(['upstream', 'health']), new RegExp(`${upstream.name} .*closed`))
  await commands.output(['upstream', 'credential-remove', upstream.name, id])
  assert.doesNotMatch(await commands.output(['upstream', 'credentials', upstream.name]), /2222/)
  const change = ['model', 'set', 'by-command', '--prefer', 'fastest', '--affinity', '--fallback', 'refused']
  const model = await commands.json<Record<string, unknown>>(change)
  assert.deepEqual([model['prefer'], model['affinity'], model['fallbacks']], ['fastest', true, ['refused']])
})

test('what is wrong with a credential is refused with its field', async () => {
  const upstream = await house.upstream(well)
  const refused = async (fields: object, words: RegExp): Promise<void> => {
    await assert.rejects(add(upstream, fields), words)
  }
  await refused({ credential: ' ' }, /credential/)
  await refused({ credential: 'sk-fine', weight: -1 }, /weight/)
  await refused({ credential: 'sk-fine', colour: 'red' }, /colour/)
  await assert.rejects(
    house.admin('DELETE', `/upstreams/${upstream.id}/credentials/main`),
    /409|own credential/,
  )
  await assert.rejects(house.admin('DELETE', `/upstreams/${upstream.id}/credentials/crd_none`), /404|no such/)
})
