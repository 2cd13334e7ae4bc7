// @backend both (cluster in long runs)
/** A relay behind https, without ADMIN_API_KEY and with invites: set-up by the printed link, and its first restart. */
import assert from 'node:assert/strict'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { billingContract } from '../../../src/http/console/contract/billing.ts'
import { authContract } from '../../../src/http/console/contract/auth.ts'
import {
  ConsoleSession,
  validPassword,
  readError,
  readSetUpToken,
} from '../../support/console/console-session.ts'
import { startRelay } from '../../support/server/relay-process.ts'
import { TestServer } from '../../support/server/test-server.ts'

const publicUrl = 'https://relay.example'
const env = { ADMIN_API_KEY: '', SIGN_UP: 'invite', PUBLIC_URL: publicUrl }
const dataDir = await mkdtemp(join(tmpdir(), 'sluice-test-'))
// Not a shared test server, which checks for open holds after each test: there is no API key for that at first.
const server = new TestServer(await startRelay({ dataDir, env }), { env })
after(() => server.close())

const openSession = (): ConsoleSession => new ConsoleSession(server.url, publicUrl)
const operator = openSession()

function signUp(session: ConsoleSession, email: string, invite?: string): Promise<Response> {
  return session.send(authContract.signUp, { body: { email, password: validPassword, invite } })
}

async function createInvite(uses = 1): Promise<string> {
  return (await operator.admin<{ code: string }>('POST', '/invites', { note: 'test', uses })).code
}

describe('First start', () => {
  test('First start – prints a link that creates the operator once; there is no default password', async () => {
    const anonymous = await operator.session()
    assert.equal(anonymous.person, null)
    assert.equal(anonymous.platform.features.set_up_needed, true)
    const token = await readSetUpToken(server)
    const body = { token, email: 'Boss@Example.com', password: validPassword, name: 'The boss' }
    const weak = await operator.expectError(authContract.setUp, { body: { ...body, password: 'short' } })
    assert.deepEqual([weak.status, weak.code, weak.param], [400, 'password_refused', 'password'])
    const signedIn = await operator.call(authContract.setUp, { body })
    assert.partialDeepStrictEqual(signedIn.session, {
      person: { email: 'Boss@Example.com', role: 'operator', name: 'The boss' },
      account: null,
      platform: { features: { set_up_needed: false } },
    })
    const again = await openSession().expectError(authContract.setUp, {
      body: { ...body, email: 'b@b.example' },
    })
    assert.deepEqual([again.status, again.code], [404, 'link_invalid'])
  })

  test('Operator session – uses the admin API under its own name, even without ADMIN_API_KEY', async () => {
    const second = openSession()
    await second.signIn('boss@example.com', validPassword)
    const { id } = await second.admin<{ id: string }>('POST', '/accounts', { email: 'ann@example.com' })
    const audit = await second.admin<{ data: { actor: string; action: string }[] }>(
      'GET',
      `/audit?object=${id}`,
    )
    assert.deepEqual(
      audit.data.map(({ actor, action }) => [actor, action]),
      [['operator:Boss@Example.com', 'account.create']],
    )
    const customer = openSession()
    assert.equal((await signUp(customer, 'other@example.com', await createInvite())).status, 200)
    for (const session of [openSession(), customer])
      assert.equal((await session.fetch('GET', '/api/admin/accounts')).status, 404)
    const crossSite = await second.fetch(
      'POST',
      '/api/admin/accounts',
      { email: 'x@example.com' },
      { origin: 'https://evil.example' },
    )
    assert.equal((await readError(crossSite)).code, 'cross_site')
    await second.call(authContract.signOut)
    assert.equal((await second.fetch('GET', '/api/admin/accounts')).status, 404)
  })

  test('Session cookie over https – is bound to the host and to secure connections', async () => {
    const session = openSession()
    const response = await signUp(session, 'secure@example.com', await createInvite())
    assert.match(
      response.headers.get('set-cookie') ?? '',
      /^__Host-sluice=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure;/,
    )
    assert.equal((await session.session()).platform.public_url, publicUrl)
  })

  test('SIGN_UP=invite – requires an invite, and invites are used up', async () => {
    const code = await createInvite(2)
    const signUpWith = (email: string, invite?: string) => signUp(openSession(), email, invite)
    assert.equal((await readError(await signUpWith('a@example.com'))).code, 'invite_invalid')
    assert.equal((await readError(await signUpWith('a@example.com', 'nonsense'))).code, 'invite_invalid')
    assert.equal((await signUpWith('a@example.com', code)).status, 200)
    assert.equal((await signUpWith('b@example.com', ` ${code.toUpperCase()} `)).status, 200)
    assert.equal((await readError(await signUpWith('c@example.com', code))).code, 'invite_invalid')
  })

  test('Trial credit without e-mail – goes to an invited user', async () => {
    await operator.admin('POST', '/promotions', { name: 'Welcome', amount: '2' })
    const session = openSession()
    assert.equal((await signUp(session, 'trial@example.com', await createInvite())).status, 200)
    assert.equal((await session.call(billingContract.wallet)).balance, '2')
  })

  describe('Restart with SIGN_UP=closed', () => {
    before(() => server.restart({ SIGN_UP: 'closed', ADMIN_API_KEY: 'admin-key-of-the-tests-0123456789' }))

    test('Restart – prints no set-up link, and a session survives it', async () => {
      assert.equal((await operator.session()).person?.role, 'operator')
      assert.equal(
        server.relay.lines.some((line) => line.includes('/set-up#')),
        false,
      )
    })

    test('SIGN_UP=closed – closes sign-up, also for an invite', async () => {
      const response = await signUp(openSession(), 'c@example.com', await createInvite())
      assert.equal((await readError(response)).code, 'sign_up_closed')
      await server.assertNoOpenHolds()
    })
  })
})
