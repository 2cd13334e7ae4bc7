// @backend both (cluster in long runs)
/**
 * The public endpoints, impersonation, and that nobody reads another customer's data. Generated from the endpoint tables,
 * so a new endpoint is covered at once. authorization-matrix.test.ts has every endpoint with every kind of caller.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Endpoint } from '../../../src/http/api/endpoint.ts'
import { endpoints } from '../../../src/http/console/endpoints.ts'
import { keyEndpoints } from '../../../src/http/console/account/keys.ts'
import { playgroundPath } from '../../../src/http/console/account/playground.ts'
import { impersonationEndpoints } from '../../../src/http/console/auth/impersonation.ts'
import type { Session } from '../../../src/http/console/auth/serialize-session.ts'
import { signInEndpoints } from '../../../src/http/console/auth/sign-in.ts'
import type { ConsoleContext } from '../../../src/http/console/context.ts'
import { usageEndpoints } from '../../../src/http/console/usage/usage.ts'
import { chatRequest } from '../../support/server/account.ts'
import { signUpCustomer, setUpOperator } from '../../support/console/console-session.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

/** The endpoints of sign-in and sign-up, which need no session. */
const publicEndpoints = [
  'GET /session',
  'POST /password-reset',
  'POST /password-reset/confirm',
  'POST /set-up',
  'POST /sign-in',
  'POST /sign-in/passkey',
  'POST /sign-in/passkey/options',
  'POST /sign-in/second-factor',
  'POST /sign-out',
  'POST /sign-up',
  'POST /verify-email',
]

const server = await sharedTestServer()
const upstream = await server.upstream(respondWith('Hello!'))
await server.model('m', { upstreams: [upstream] })
const operator = await setUpOperator(server)

function endpointName({ method, path }: Endpoint): string {
  return `${method.toUpperCase()} ${path}`
}

function endpointUrl(endpoint: Endpoint, id = 'x'): [string, string] {
  return [endpoint.method.toUpperCase(), `/api/console${endpoint.path.replace(/\{\w+\}/, id)}`]
}

describe('Route authorization', () => {
  test('Public endpoints – are exactly the listed ones, and no endpoint is declared twice', () => {
    const anonymous = endpoints.filter(({ audience }) => audience === 'anyone').map(endpointName)
    assert.deepEqual(anonymous.toSorted(), publicEndpoints)
    assert.equal(new Set(endpoints.map(endpointName)).size, endpoints.length)
  })

  test('Impersonation – rejects every call that writes until it is ended', async () => {
    const customer = await signUpCustomer(server, 'viewed@example.com')
    const { secret: _, ...key } = await customer.call(keyEndpoints.create, { body: { name: 'laptop' } })
    const { account } = await customer.session()
    const start = (): Promise<Session> =>
      operator.call(impersonationEndpoints.start, { id: account?.id ?? '' })
    assert.equal((await start()).acting, true)
    const ending: Endpoint<ConsoleContext>[] = [impersonationEndpoints.stop, signInEndpoints.signOut]
    const writing = endpoints.filter((each) => each.method !== 'get' && !ending.includes(each))
    assert.ok(writing.length > 30, `${writing.length}`)
    const paths = writing.map((each) => endpointUrl(each, each.path.startsWith('/keys/') ? key.id : 'x'))
    for (const [method, path] of [...paths, ['POST', playgroundPath] as const]) {
      const response = await operator.fetch(method, path, chatRequest('m'))
      assert.match(await response.text(), /while you impersonate an account/, `${method} ${path}`)
      assert.equal(response.status, 403)
    }
    for (const method of ['GET', 'HEAD'])
      assert.equal((await operator.fetch(method, `/api/console/keys/${key.id}`)).status, 200, method)
    const { data } = await customer.call(keyEndpoints.list)
    assert.deepEqual(data, [{ ...key, last_used_at: null }])
    assert.equal((await operator.call(impersonationEndpoints.stop)).acting, false)
    assert.equal((await start()).acting, true)
    await operator.call(impersonationEndpoints.stop)
  })

  test("Another customer's objects – cannot be read, changed or listed by any endpoint", async () => {
    const ann = await signUpCustomer(server, 'owner@example.com')
    const mallory = await signUpCustomer(server, 'mallory@example.com')
    const { account, person } = await ann.session()
    const credit = { amount: '1', reason: 'test', idempotency_key: 'once' }
    await operator.admin('POST', `/accounts/${account?.id}/credits`, credit)
    const { secret, ...key } = await ann.call(keyEndpoints.create, { body: { name: 'mine' } })
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(chatRequest('m')),
    })
    const requestId = response.headers.get('x-request-id') ?? ''
    await response.text()
    const [session] = (
      await ann
        .fetch('GET', '/api/console/me/sessions')
        .then((each) => each.json() as Promise<{ data: { id: string }[] }>)
    ).data
    const objects = [key.id, requestId, account?.id ?? '', person?.id ?? '', session?.id ?? '']
    // last_used_at is written with a delay and does not depend on the other customer.
    const readKey = async () => ({
      ...(await ann.call(keyEndpoints.read, { id: key.id })),
      last_used_at: null,
    })
    const before = await readKey()
    for (const endpoint of endpoints) {
      if (endpoint.audience === 'operator' || endpoint.audience === 'anyone') continue
      const ids = endpoint.path.includes('{') ? objects : ['']
      for (const id of ids) {
        const [method, path] = endpointUrl(endpoint, id)
        const attempt = await mallory.fetch(method, path, method === 'GET' ? undefined : {})
        const text = await attempt.text()
        if (endpoint.path.includes('{'))
          assert.ok(attempt.status >= 400, `${endpointName(endpoint)} ${id} → ${attempt.status}`)
        for (const object of objects) {
          if (!path.includes(object))
            assert.ok(!text.includes(object), `${endpointName(endpoint)} reveals ${object}`)
        }
      }
    }
    for (const query of [`?key=${key.id}`, `?request_id=${requestId}`, `?model=m`]) {
      const list = await mallory.fetch('GET', `/api/console/requests${query}`)
      assert.deepEqual(((await list.json()) as { data: object[] }).data, [], query)
      const csv = await mallory.fetch('GET', `/api/console/requests.csv${query}`)
      assert.equal((await csv.text()).trimEnd().split('\r\n').length, 1, query)
    }
    const by = await mallory.call(usageEndpoints.breakdown, { query: { group: 'key', key: key.id } })
    assert.deepEqual(by.data, [])
    assert.deepEqual(await readKey(), before)
    assert.equal((await ann.session()).person?.id, person?.id)
  })
})
