// @backend both
/**
 * An operator's session alone cannot add an upstream, send its requests elsewhere, nor create a link that gives access
 * as an operator: the password, or a passkey, is needed again.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { impersonationEndpoints } from '../../../src/http/console/auth/impersonation.ts'
import { profileEndpoints } from '../../../src/http/console/auth/profile.ts'
import { signInEndpoints } from '../../../src/http/console/auth/sign-in.ts'
import {
  ConsoleSession,
  readError,
  setUpOperator,
  signUpCustomer,
  validPassword,
} from '../../support/console/console-session.ts'
import { SoftwareAuthenticator } from '../../support/console/passkey-authenticator.ts'
import { executeSql } from '../../support/server/database-access.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'

const server = await sharedTestServer({
  env: { SIGN_UP: 'open', UPSTREAM_ALLOW: '127.0.0.0/8', WORKERS: '2' },
})
const operator = await setUpOperator(server)
const unconfirmed = await signInAgain()
const proof = { body: { password: validPassword } }

interface Upstream {
  readonly id: string
  readonly base_url: string
  readonly last_four: string | null
}

async function createUpstream(): Promise<string> {
  const fields = { credential: 'sk-canary-7777' }
  return `/upstreams/${(await server.upstreamAt('http://127.0.0.1:9000/v1', fields)).id}`
}

async function signInAgain(): Promise<ConsoleSession> {
  const session = new ConsoleSession(server.url)
  await session.signIn('boss@example.com', validPassword)
  return session
}

/** The error code of a change, or `null` if it was made. */
async function change(session: ConsoleSession, path: string, patch: object): Promise<string | null> {
  const response = await session.fetch('PATCH', `/api/admin${path}`, patch)
  if (response.ok) return response.text().then(() => null)
  const { status, code } = await readError(response)
  assert.equal(status, 403)
  return code
}

async function addPasskey(session: ConsoleSession): Promise<SoftwareAuthenticator> {
  const device = new SoftwareAuthenticator(server.url)
  const { ticket, options } = await session.call(profileEndpoints.passkeyOptions, proof)
  const body = { ticket, response: device.create(options), name: 'phone' }
  await session.call(profileEndpoints.createPasskey, { body })
  return device
}

async function signWithPasskey(session: ConsoleSession, device: SoftwareAuthenticator) {
  const { ticket, options } = await session.call(signInEndpoints.passkeyOptions)
  return { body: { ticket, response: device.get(options) } }
}

describe('Confirmation with the password', () => {
  test('Unconfirmed session – cannot add an upstream; one that was just set up can', async () => {
    const session = await signInAgain()
    const fields = { provider: 'openai-compatible', base_url: 'http://127.0.0.1:9000/v1', credential: '' }
    const add = (by: ConsoleSession, name: string) =>
      by.fetch('POST', '/api/admin/upstreams', { ...fields, name })
    const { status, code } = await readError(await add(session, 'diverted'))
    assert.deepEqual([status, code], [403, 'password_required'])
    const { data } = await server.admin<{ data: { name: string }[] }>('GET', '/upstreams')
    assert.ok(!data.some(({ name }) => name === 'diverted'))
    await session.call(profileEndpoints.confirm, proof)
    assert.equal((await add(session, 'confirmed')).status, 201)
    assert.equal((await add(operator, 'first')).status, 201)
  })

  test('Money above CONFIRM_ABOVE, links and backups need a confirmation', async () => {
    const session = await signInAgain()
    const { id } = await server.account()
    const credit = (amount: string) =>
      session.fetch('POST', `/api/admin/accounts/${id}/credits`, {
        amount,
        reason: 'a',
        idempotency_key: amount,
      })
    const vouchers = (amount: string) => session.fetch('POST', '/api/admin/vouchers', { amount, count: 4 })
    for (const response of [
      await credit('10000.01'),
      await credit('-10000.01'),
      await vouchers('2500.01'),
      await session.fetch('POST', `/api/admin/accounts/${id}/access-link`, {}),
      await session.fetch('POST', '/api/admin/backups'),
      await session.fetch('GET', '/api/admin/backups/backup-1/download'),
      await session.fetch('DELETE', '/api/admin/backups/backup-1'),
      await session.fetch('GET', '/api/console/me/confirmation'),
    ]) {
      const { status, code } = await readError(response)
      assert.deepEqual([status, code], [403, 'password_required'], response.url)
    }
    assert.equal((await credit('10000')).status, 201)
    assert.equal((await vouchers('2500')).status, 201)
    await session.call(profileEndpoints.confirm, proof)
    assert.equal((await credit('10000.01')).status, 201)
    assert.equal((await session.fetch('POST', `/api/admin/accounts/${id}/access-link`, {})).status, 201)
    assert.equal((await session.fetch('GET', '/api/console/me/confirmation')).status, 200)
  })

  test('Unconfirmed session – cannot change origin, provider or proxy; nothing changes', async () => {
    const path = await createUpstream()
    const before = await server.admin<Upstream>('GET', path)
    for (const patch of [
      { base_url: 'http://127.0.0.1:9001/v1' },
      { base_url: 'https://127.0.0.1:9000/v1', credential: 'sk-mine' },
      { provider: 'vllm' },
      { proxy: 'http://127.0.0.1:3128' },
    ])
      assert.equal(await change(unconfirmed, path, patch), 'password_required', JSON.stringify(patch))
    assert.deepEqual(await server.admin('GET', path), before)
    assert.equal(before.last_four, '7777')
  })

  test('Links that give access need the confirmation, those of customers too', async () => {
    const session = await signInAgain()
    const customer = await signUpCustomer(server, 'linked@example.com')
    const idOf = async (each: ConsoleSession) => (await each.session()).person?.id
    const linkOf = async (each: ConsoleSession) => `/people/${await idOf(each)}/access-link`
    for (const path of ['/operators/link', await linkOf(session), await linkOf(customer)]) {
      const rejected = await readError(await session.fetch('POST', `/api/admin${path}`, {}))
      assert.deepEqual([rejected.status, rejected.code], [403, 'password_required'], path)
    }
    await server.admin('POST', '/operators/link')
    await session.call(profileEndpoints.confirm, proof)
    await session.admin('POST', '/operators/link')
    await session.admin('POST', await linkOf(customer), {})
  })

  test('Other changes, and calls with ADMIN_API_KEY – need no confirmation', async () => {
    const path = await createUpstream()
    const patch = { priority: 3, base_url: 'http://127.0.0.1:9000/v2', credential: 'sk-other-8888' }
    assert.equal(await change(unconfirmed, path, patch), null)
    await server.admin('PATCH', path, { base_url: 'http://127.0.0.1:9001/v1' })
  })

  test('Password – confirms its own session for a while, and is recorded in the audit log', async () => {
    const path = await createUpstream()
    const moved = { base_url: 'http://127.0.0.1:9001/v1' }
    const [session, other] = [await signInAgain(), await signInAgain()]
    const wrong = { body: { password: 'not the password' } }
    const rejected = await session.expectError(profileEndpoints.confirm, wrong)
    assert.deepEqual([rejected.status, rejected.code], [401, 'wrong_credentials'])
    assert.equal(await change(session, path, moved), 'password_required')
    const { expires_at: expiresAt } = await session.call(profileEndpoints.confirm, proof)
    assert.ok(Date.parse(expiresAt) > Date.now())
    assert.equal(await change(other, path, moved), 'password_required')
    assert.equal(await change(session, path, moved), null)
    const { base_url: baseUrl, last_four: lastFour } = await server.admin<Upstream>('GET', path)
    assert.deepEqual([baseUrl, lastFour], [moved.base_url, null])
    const audit = await server.admin<{ data: { actor: string; action: string }[] }>('GET', '/audit?limit=20')
    const confirmation = audit.data.find(({ action }) => action === 'person.confirm')
    assert.equal(confirmation?.actor, 'operator:boss@example.com')
    await executeSql(server.relay, `update tickets set expires_at = 1 where kind = 'confirmation'`)
    assert.equal(await change(session, path, { provider: 'vllm' }), 'password_required')
  })

  test('Passkey – confirms its user’s session, and no other user’s', async () => {
    const path = await createUpstream()
    const session = await signInAgain()
    const device = await addPasskey(session)
    const stranger = await signUpCustomer(server, 'stranger@example.com')
    const foreign = await signWithPasskey(session, await addPasskey(stranger))
    assert.equal((await session.expectError(profileEndpoints.confirm, foreign)).code, 'wrong_credentials')
    assert.equal(await change(session, path, { provider: 'vllm' }), 'password_required')
    await session.call(profileEndpoints.confirm, await signWithPasskey(session, device))
    assert.equal(await change(session, path, { provider: 'vllm' }), null)
  })

  test('Impersonation – does not replace the confirmation, and cannot give it', async () => {
    const path = await createUpstream()
    const session = await signInAgain()
    const { account } = await (await signUpCustomer(server, 'viewed@example.com')).session()
    await session.call(impersonationEndpoints.start, { id: account?.id ?? '' })
    assert.equal(await change(session, path, { provider: 'vllm' }), 'password_required')
    assert.equal((await session.expectError(profileEndpoints.confirm, proof)).code, 'permission_denied')
  })

  test('Wrong passwords – are throttled after ten, even if the next one is right', async () => {
    await operator.call(profileEndpoints.confirm, proof)
    const wrong = { body: { password: 'a guess' } }
    for (let count = 0; count < 10; count += 1)
      assert.equal((await operator.expectError(profileEndpoints.confirm, wrong)).status, 401)
    const throttled = await operator.expectError(profileEndpoints.confirm, proof)
    assert.deepEqual([throttled.status, throttled.code], [429, 'rate_limit_exceeded'])
  })
})
