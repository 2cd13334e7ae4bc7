// @backend both
/** Several credentials of one upstream: used by weight, and a rejected one is skipped while the others serve. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { commandLineFor } from '../../support/server/command-line.ts'
import { sharedTestServer, type RegisteredUpstream } from '../../support/server/test-server.ts'
import { respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'
import { readDatabaseBytes } from '../../support/server/database-access.ts'
import { upstreamHealth } from '../../support/server/upstream-health.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer()
const healthy = respondWith('Hello!', { input: 10, output: 5 })
const account = await server.account({ balance: '¥10' })

interface Credential {
  id: string
  label: string
  last_four: string | null
  weight: number
  enabled: boolean
}

/** Responds according to the credential in the request. */
function respondByCredential(scripts: Record<string, Script>): Script {
  return (exchange) => {
    const secret = (exchange.request.headers['authorization'] ?? '').replace('Bearer ', '')
    return (scripts[secret] ?? respondWithError(401))(exchange)
  }
}

function countUses(upstream: RegisteredUpstream, secret: string): number {
  return upstream.requests.filter(({ headers }) => headers['authorization'] === `Bearer ${secret}`).length
}

async function addCredential(upstream: RegisteredUpstream, fields: object): Promise<Credential> {
  return server.admin('POST', `/upstreams/${upstream.id}/credentials`, fields)
}

async function sendRequests(model: string, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const response = await account.post(chatRequest(model))
    assert.equal(response.status, 200)
    await response.arrayBuffer()
  }
}

const [one, two, three] = ['sk-number-one-1111', 'sk-number-two-2222', 'sk-number-three-3333']

describe('Upstream credentials', () => {
  test('Credentials – show only their last four characters and are used by weight', async () => {
    const upstream = await server.upstream(respondByCredential({ [one]: healthy, [two]: healthy }), {
      credential: one,
    })
    await server.model('spread', { upstreams: [upstream] })
    const added = await addCredential(upstream, { credential: two, label: 'the second', weight: 3 })
    assert.deepEqual(
      { ...added, id: '', created_at: '' },
      { id: '', label: 'the second', last_four: '2222', weight: 3, enabled: true, created_at: '' },
    )
    const { data } = await server.admin<{ data: Credential[] }>(
      'GET',
      `/upstreams/${upstream.name}/credentials`,
    )
    assert.deepEqual(
      data.map(({ id, last_four: last }) => [id, last]),
      [
        ['main', '1111'],
        [added.id, '2222'],
      ],
    )
    await sendRequests('spread', 100)
    const used = countUses(upstream, two)
    assert.ok(used > 55 && used < 95, `${used} of 100`)
    const path = `/upstreams/${upstream.id}/credentials/${added.id}`
    await server.admin('PATCH', path, { enabled: false })
    const before = countUses(upstream, two)
    await sendRequests('spread', 10)
    assert.equal(countUses(upstream, two), before)
    await server.admin('DELETE', path)
    const output = JSON.stringify([
      await server.admin('GET', '/upstreams'),
      await server.admin('GET', '/upstreams/health'),
      await server.admin('GET', '/audit?limit=50'),
      server.log,
    ])
    const stored = await readDatabaseBytes(server.relay)
    assert.ok(stored.includes(upstream.id))
    for (const secret of [one, two]) {
      assert.ok(!output.includes(secret))
      assert.ok(!stored.includes(secret), 'encrypted in the database')
    }
  })

  test('Rejected credential – is replaced within the request and skipped while others serve', async () => {
    const upstream = await server.upstream(respondByCredential({ [two]: healthy, [three]: healthy }), {
      credential: one,
    })
    await server.model('refused', { upstreams: [upstream] })
    for (const credential of [two, three]) await addCredential(upstream, { credential })
    await sendRequests('refused', 20)
    assert.equal(countUses(upstream, one) <= 2, true, 'once, and perhaps a probe')
    const { state, credentials } = await upstreamHealth(server, upstream.id)
    assert.equal(state, 'closed', 'the upstream itself is healthy')
    const main = credentials.find(({ id }) => id === 'main')
    assert.equal(main?.state, 'open')
    assert.match(main?.why ?? '', /rejects the credential/)
    // Replaced by the operator: used again at once.
    upstream.always(respondByCredential({ 'sk-a-new-one-4444': healthy, [two]: healthy, [three]: healthy }))
    await server.admin('PATCH', `/upstreams/${upstream.id}`, { credential: 'sk-a-new-one-4444' })
    await sendRequests('refused', 20)
    assert.ok(countUses(upstream, 'sk-a-new-one-4444') > 0)
  })

  test('Credential without credit – is skipped for every model; a rate-limited one for its model', async () => {
    const upstream = await server.upstream(healthy, { credential: one })
    await addCredential(upstream, { credential: two })
    await server.model('first', { upstreams: [upstream] })
    await server.model('second', { upstreams: [upstream] })
    const busy = respondWithError(429, undefined, { 'retry-after': '60' })
    upstream.always(respondByCredential({ [one]: busy, [two]: healthy }))
    await sendRequests('first', 10)
    assert.equal(countUses(upstream, one), 1)
    upstream.always(respondByCredential({ [one]: healthy, [two]: healthy }))
    await sendRequests('second', 20)
    assert.ok(countUses(upstream, one) > 1, 'still used for the other model')
    upstream.always(respondByCredential({ [one]: respondWithError(402), [two]: healthy }))
    await waitUntil(async () => {
      await sendRequests('second', 1)
      const { credentials } = await upstreamHealth(server, upstream.id, 'second')
      return credentials.some(({ why }) => why === 'Out of credit.')
    }, 'a rejection for lack of credit')
    const { credentials } = await upstreamHealth(server, upstream.id, 'first')
    assert.ok(credentials.some(({ id, state }) => id === 'main' && state !== 'closed'))
  })

  test('Upstream with one rejected credential – is replaced by the next upstream', async () => {
    const upstream = await server.upstream(respondWithError(403), { credential: one })
    const next = await server.upstream(healthy)
    await server.model('only', { upstreams: [upstream, next] })
    const startedMs = performance.now()
    const response = await account.post(chatRequest('only'))
    assert.deepEqual(
      (await waitForRecord(account, response)).attempts.map(({ upstream: id }) => id),
      [upstream.id, next.id],
    )
    await sendRequests('only', 5)
    // On a slow machine the cool-down of a second may be over: then one request is its probe.
    const cooldowns = Math.floor((performance.now() - startedMs) / 800)
    assert.ok(upstream.requests.length <= 1 + cooldowns, `${upstream.requests.length} requests`)
    assert.equal((await upstreamHealth(server, upstream.id)).state, 'open')
  })

  test('Credentials and health – are administered from the command line', async () => {
    const upstream = await server.upstream(respondByCredential({ [one]: healthy, [two]: healthy }), {
      credential: one,
    })
    await server.model('by-command', { upstreams: [upstream] })
    const commands = commandLineFor(server.relay)
    const args = ['upstream', 'credential-add', upstream.name, '--label', 'spare', '--credential-stdin']
    const { id } = await commands.json<Credential>(args, `${two}\n`)
    assert.match(
      await commands.output(['upstream', 'credentials', upstream.name]),
      /main .*1111[^]*spare .*2222/,
    )
    assert.match(await commands.output(['upstream', 'health']), new RegExp(`${upstream.name} .*closed`))
    await commands.output(['upstream', 'credential-remove', upstream.name, id])
    assert.doesNotMatch(await commands.output(['upstream', 'credentials', upstream.name]), /2222/)
    const change = [
      'model',
      'set',
      'by-command',
      '--prefer',
      'fastest',
      '--affinity',
      '--fallback',
      'refused',
    ]
    const model = await commands.json<Record<string, unknown>>(change)
    assert.deepEqual([model['prefer'], model['affinity'], model['fallbacks']], ['fastest', true, ['refused']])
  })

  test('New origin, provider or proxy – deletes all stored credentials but the one sent with it', async () => {
    const thief = await server.upstream(healthy)
    const moves = [{ base_url: thief.url }, { provider: 'vllm' }, { proxy: 'http://127.0.0.1:9' }]
    for (const move of [...moves, { base_url: thief.url, credential: three }]) {
      const upstream = await server.upstream(healthy, { credential: one })
      await addCredential(upstream, { credential: two })
      const path = `/upstreams/${upstream.id}`
      const samePlace = {
        base_url: `${upstream.url}/`,
        provider: 'openai-compatible',
        proxy: null,
        weight: 2,
      }
      await server.admin('PATCH', path, samePlace)
      const credentials = (): Promise<{ data: Credential[] }> => server.admin('GET', `${path}/credentials`)
      assert.equal((await credentials()).data.length, 2)
      await server.admin('PATCH', path, move)
      const left = (await credentials()).data.map(({ id, last_four: last }) => [id, last])
      assert.deepEqual(left, [['main', 'credential' in move ? '3333' : null]], JSON.stringify(move))
      for (let count = 0; count < 3; count += 1)
        await server.admin('POST', `${path}/test`, { model: 'gpt-test' })
    }
    const received = thief.requests.map(({ headers }) => headers['authorization'] ?? '')
    assert.equal(received.length, 6)
    assert.equal(received.filter((header) => header.includes(three)).length, 3)
    assert.doesNotMatch(received.join(), new RegExp(`${one}|${two}`))
  })

  test('Invalid credential – is rejected with its field name', async () => {
    const upstream = await server.upstream(healthy)
    const assertRejected = async (fields: object, message: RegExp): Promise<void> => {
      await assert.rejects(addCredential(upstream, fields), message)
    }
    await assertRejected({ credential: ' ' }, /credential/)
    await assertRejected({ credential: 'sk-fine', weight: -1 }, /weight/)
    await assertRejected({ credential: 'sk-fine', colour: 'red' }, /colour/)
    await assert.rejects(
      server.admin('DELETE', `/upstreams/${upstream.id}/credentials/main`),
      /409|own credential/,
    )
    await assert.rejects(
      server.admin('DELETE', `/upstreams/${upstream.id}/credentials/crd_none`),
      /404|no such/,
    )
  })
})
