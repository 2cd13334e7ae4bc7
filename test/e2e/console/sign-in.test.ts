// @backend both (cluster in long runs)
/** Sign-up, sign-in, sign-out, cookies, and requests from other sites. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { signInEndpoints } from '../../../src/http/console/auth/sign-in.ts'
import { signUpEndpoints } from '../../../src/http/console/auth/sign-up.ts'
import {
  ConsoleSession,
  signUpCustomer,
  validPassword,
  readError,
} from '../../support/console/console-session.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer({ env: { TRUST_PROXY: '127.0.0.1' } })

describe('Sign-in', () => {
  test('Sign-up without e-mail – opens an account at once and rejects a known address', async () => {
    const ann = await signUpCustomer(server, 'Ann@Example.com')
    const { person, account } = await ann.session()
    assert.partialDeepStrictEqual(person, {
      email: 'Ann@Example.com',
      role: 'customer',
      email_verified: false,
    })
    assert.partialDeepStrictEqual(account, { email: 'Ann@Example.com', tier: 'new', status: 'active' })
    const body = { email: 'ann@example.COM', password: validPassword }
    assert.equal(
      (await new ConsoleSession(server.url).expectError(signUpEndpoints.signUp, { body })).code,
      'conflict',
    )
    await server.admin('POST', '/accounts', { email: 'made@example.com' })
    const existing = { email: 'made@example.com', password: validPassword }
    assert.equal(
      (await new ConsoleSession(server.url).expectError(signUpEndpoints.signUp, { body: existing })).code,
      'conflict',
    )
  })

  test('Failed sign-in – has a log line with network and method, without address and password', async () => {
    const headers = { 'x-forwarded-for': '192.0.2.77' }
    const body = { email: 'watched@example.com', password: 'a secret guess' }
    const session = new ConsoleSession(server.url)
    for (let attempt = 0; attempt < 3; attempt += 1)
      assert.equal((await session.expectError(signInEndpoints.signIn, { body, headers })).status, 401)
    const { ticket } = await session.call(signInEndpoints.passkeyOptions)
    const passkey = { body: { ticket, response: { id: 'unknown' } }, headers }
    assert.equal((await session.expectError(signInEndpoints.passkeySignIn, passkey)).status, 401)
    for (const method of ['password', 'passkey']) {
      const lines = await waitUntil(async () => {
        const found = server.relay.lines.filter((line) => line.includes(`"method":"${method}"`))
        return found.length > 0 ? found : undefined
      }, `a line for ${method}`)
      // One for each worker.
      assert.ok(lines.length <= 2, lines.join('\n'))
      for (const line of lines) {
        assert.partialDeepStrictEqual(JSON.parse(line), { msg: 'sign-in failed', network: '192.0.2.77' })
        for (const secret of ['watched', body.password]) assert.ok(!line.includes(secret), line)
      }
    }
  })

  test('Failed sign-in – returns the same error for every cause, and guessing is throttled', async () => {
    await signUpCustomer(server, 'bob@example.com')
    const disabled = await (await signUpCustomer(server, 'disabled@example.com')).session()
    await server.admin('PATCH', `/people/${disabled.person?.id}`, { disabled: true })
    const attempts = [
      { email: 'bob@example.com', password: 'not the password' },
      { email: 'nobody@example.com', password: validPassword },
      { email: 'no address', password: validPassword },
      { email: 'disabled@example.com', password: validPassword },
    ]
    const errors = await Promise.all(
      attempts.map(async (body) =>
        new ConsoleSession(server.url).expectError(signInEndpoints.signIn, { body }),
      ),
    )
    for (const error of errors) assert.deepEqual(error, errors[0])
    assert.deepEqual([errors[0]?.status, errors[0]?.code], [401, 'wrong_credentials'])
    for (const email of ['bob@example.com', 'nobody@example.com']) {
      const body = { email, password: 'a guess at random' }
      const guess = () => new ConsoleSession(server.url).expectError(signInEndpoints.signIn, { body })
      await Promise.all(Array.from({ length: 9 }, guess))
      const throttled = await new ConsoleSession(server.url).expectError(signInEndpoints.signIn, {
        body: { ...body, password: validPassword },
      })
      assert.deepEqual([throttled.status, throttled.code], [429, 'rate_limit_exceeded'], email)
    }
    const fromElsewhere = { 'x-forwarded-for': '2001:db8:9::1' }
    const body = { email: 'bob@example.com', password: validPassword }
    const owner = new ConsoleSession(server.url)
    const response = await owner.call(signInEndpoints.signIn, { body, headers: fromElsewhere })
    assert.equal(response.status, 'signed_in')
  })

  test('Sign-up – is throttled by the /64 of an IPv6 address', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 22 }, async (_, host) => {
        const headers = { 'x-forwarded-for': `2001:db8:5:5:${host}::1` }
        const body = { email: `host-${host}@example.com`, password: 'short' }
        return (await new ConsoleSession(server.url).expectError(signUpEndpoints.signUp, { body, headers }))
          .status
      }),
    )
    assert.deepEqual(
      [
        statuses.filter((status) => status === 429).length,
        statuses.filter((status) => status === 400).length,
      ],
      [2, 20],
    )
  })

  test('Sign-in – issues a new session token each time, and sign-out ends it', async () => {
    await signUpCustomer(server, 'carol@example.com')
    const session = new ConsoleSession(server.url)
    session.cookies.set('sluice', 'planted-by-an-attacker')
    assert.equal((await session.session()).person, null)
    await session.signIn('CAROL@example.com', validPassword)
    const first = session.cookies.get('sluice') ?? ''
    assert.notEqual(first, 'planted-by-an-attacker')
    await session.signIn('carol@example.com', validPassword)
    const second = new ConsoleSession(server.url)
    second.cookies.set('sluice', first)
    assert.equal((await second.session()).person, null, 'the previous session has ended')
    const response = await session.send(signInEndpoints.signIn, {
      body: { email: 'carol@example.com', password: validPassword },
    })
    assert.match(
      response.headers.get('set-cookie') ?? '',
      /^sluice=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Expires=/,
    )
    const token = session.cookies.get('sluice') ?? ''
    await session.call(signInEndpoints.signOut)
    second.cookies.set('sluice', token)
    assert.equal((await second.session()).person, null)
  })

  test('Requests from other sites – change nothing', async () => {
    const dave = await signUpCustomer(server, 'dave@example.com')
    const body = { name: 'Mallory' }
    const path = '/api/console/me'
    const crossSiteHeaders: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { origin: `${server.url}.evil.example` },
    ]
    for (const headers of crossSiteHeaders) {
      const response = await dave.fetch('PATCH', path, body, headers)
      assert.deepEqual(
        [response.status, (await readError(response)).code],
        [403, 'cross_site'],
        JSON.stringify(headers),
      )
    }
    const cookie = `sluice=${dave.cookies.get('sluice')}`
    const withoutHeaders = await fetch(`${server.url}${path}`, {
      method: 'PATCH',
      headers: { cookie, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.equal((await readError(withoutHeaders)).code, 'cross_site')
    const form = await dave.fetch('PATCH', path, 'name=Mallory', {
      'content-type': 'application/x-www-form-urlencoded',
    })
    assert.equal(form.status, 415)
    assert.equal((await dave.session()).person?.name, '')
  })
})
