// @backend both
/** `Idempotency-Key` in the admin API: concurrent and repeated calls, two administrators, and a crash. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readError } from '../../support/client/responses.ts'
import { setUpOperator } from '../../support/console/console-session.ts'
import { readDatabaseBytes } from '../../support/server/database-access.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { waitFor } from '../../support/upstream/fault-injection.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const upstream = await server.upstream(respondWith('Hello!'))
const operator = await setUpOperator(server)

interface List {
  readonly data: { readonly id: string }[]
}

function send(path: string, body: object, key: string): Promise<Response> {
  return fetch(`${server.url}/api/admin${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${server.relay.adminKey}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify(body),
  })
}

async function countOf(path: string): Promise<number> {
  return (await server.admin<List>('GET', path)).data.length
}

/** A call that is in progress until `resume` is called. */
async function startSlowCall(key: string): Promise<{ response: Promise<Response>; resume: () => void }> {
  const { promise, resolve } = Promise.withResolvers<void>()
  upstream.next(waitFor(promise, respondWith('Hello!')))
  const before = upstream.requests.length
  const response = send(`/upstreams/${upstream.id}/test`, { model: 'any' }, key)
  // Not unhandled if the relay is killed.
  response.catch(() => null)
  while (upstream.requests.length === before) await upstream.nextRequest()
  return { response, resume: resolve }
}

describe('Idempotency keys of the admin API', () => {
  test('20 concurrent calls with one key – create one voucher; the others get its code or 409', async () => {
    const before = await countOf('/vouchers')
    const order = { amount: '1', count: 1 }
    const responses = await Promise.all(Array.from({ length: 20 }, () => send('/vouchers', order, 'twenty')))
    const created = responses.filter(({ status }) => status === 201)
    const rejected = responses.filter(({ status }) => status === 409)
    assert.equal(created.length + rejected.length, 20)
    const bodies = await Promise.all(created.map((response) => response.text()))
    assert.equal(new Set(bodies).size, 1)
    assert.equal(created.filter(({ headers }) => !headers.has('idempotent-replayed')).length, 1)
    for (const response of rejected) assert.equal((await readError(response)).code, 'idempotency_conflict')
    assert.equal(await (await send('/vouchers', order, 'twenty')).text(), bodies[0])
    assert.equal(await countOf('/vouchers'), before + 1)
  })

  test('Key created twice with one key – has one secret, which is encrypted at rest', async () => {
    const { id } = await server.account()
    const before = await countOf(`/accounts/${id}/keys`)
    const create = () => send(`/accounts/${id}/keys`, { name: 'script' }, 'one-secret')
    const first = (await (await create()).json()) as { secret: string }
    assert.deepEqual(await (await create()).json(), first)
    assert.equal(await countOf(`/accounts/${id}/keys`), before + 1)
    assert.ok(!(await readDatabaseBytes(server.relay)).includes(first.secret))
  })

  test('Two administrators – use the same key for different calls', async () => {
    const order = { amount: '3', count: 1 }
    const byKey = await (await send('/vouchers', order, 'shared')).text()
    const bySession = async () => {
      const headers = { 'idempotency-key': 'shared' }
      return (await operator.fetch('POST', '/api/admin/vouchers', order, headers)).text()
    }
    const first = await bySession()
    assert.notEqual(first, byKey)
    assert.equal(await bySession(), first)
    assert.equal(await (await send('/vouchers', order, 'shared')).text(), byKey)
  })

  test('Call in progress – repeated: 409; with another body: 422; afterwards its response', async () => {
    const path = `/upstreams/${upstream.id}/test`
    const { response, resume } = await startSlowCall('slow')
    const repeated = await send(path, { model: 'any' }, 'slow')
    assert.equal(repeated.status, 409)
    assert.ok(Number(repeated.headers.get('retry-after')) >= 1)
    assert.equal((await send(path, { model: 'other' }, 'slow')).status, 422)
    resume()
    const first = await (await response).text()
    assert.match(first, /"ok":true/)
    assert.equal(await (await send(path, { model: 'any' }, 'slow')).text(), first)
  })

  test('Call that a crash interrupted – is not executed again; stored responses survive', async () => {
    const order = { amount: '5', count: 1 }
    const voucher = await (await send('/vouchers', order, 'kept')).text()
    const { resume } = await startSlowCall('killed')
    const before = upstream.requests.length
    await server.kill()
    resume()
    await server.restart()
    const repeated = await send(`/upstreams/${upstream.id}/test`, { model: 'any' }, 'killed')
    assert.equal(repeated.status, 409)
    const { message } = await readError(repeated)
    assert.match(message, /^Request req_\w+ .* was interrupted/)
    assert.equal(upstream.requests.length, before)
    assert.equal(await (await send('/vouchers', order, 'kept')).text(), voucher)
  })
})
