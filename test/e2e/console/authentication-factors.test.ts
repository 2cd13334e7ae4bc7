// @backend both (cluster in long runs)
/** E-mail verification, password reset, authenticator apps, recovery codes and passkeys. Each code and link works once. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { passwordResetEndpoints } from '../../../src/http/console/auth/password-reset.ts'
import { profileEndpoints } from '../../../src/http/console/auth/profile.ts'
import { signInEndpoints } from '../../../src/http/console/auth/sign-in.ts'
import { signUpEndpoints } from '../../../src/http/console/auth/sign-up.ts'
import { SoftwareAuthenticator } from '../../support/console/passkey-authenticator.ts'
import { ConsoleSession, signUpCustomer, validPassword } from '../../support/console/console-session.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { startMailServer, tokenInEmail, type MailServer } from '../../support/sinks/mail-server.ts'

const server = await sharedTestServer()

/** The next e-mail to this address; skips e-mails to others. */
async function nextEmailTo(mail: MailServer, address: string): Promise<string> {
  for (;;) {
    const email = await mail.next()
    if (email.toLowerCase().includes(`to: ${address}`)) return email
  }
}

/** Leaves the relay with e-mail. */
async function checkPasswordReset(mail: MailServer): Promise<void> {
  const rita = await signUpCustomer(server, 'rita@example.com')
  assert.equal(
    (
      await rita.expectError(passwordResetEndpoints.requestPasswordReset, {
        body: { email: 'rita@example.com' },
      })
    ).status,
    404,
  )
  await server.restart({ SMTP_URL: mail.url })
  for (const email of ['nobody@example.com', 'rita@example.com']) {
    assert.deepEqual(
      await new ConsoleSession(server.url).call(passwordResetEndpoints.requestPasswordReset, {
        body: { email },
      }),
      {
        done: true,
      },
    )
  }
  const email = await nextEmailTo(mail, 'rita@example.com')
  const password = 'a new and better harbour'
  const token = tokenInEmail(email)
  await new ConsoleSession(server.url).call(passwordResetEndpoints.resetPassword, {
    body: { token, password },
  })
  assert.equal((await rita.session()).person, null)
  const old = { email: 'rita@example.com', password: validPassword }
  assert.equal((await rita.expectError(signInEndpoints.signIn, { body: old })).code, 'wrong_credentials')
  await rita.signIn('rita@example.com', password)
  assert.equal((await rita.session()).person?.email_verified, true)
}

async function checkVerifiedSignUp(mail: MailServer): Promise<void> {
  const session = new ConsoleSession(server.url)
  const promotion = { name: 'Welcome', amount: '2' }
  await server.admin('POST', '/promotions', promotion)
  const body = { email: 'ann@example.com', password: validPassword, name: 'Ann' }
  assert.deepEqual(await session.call(signUpEndpoints.signUp, { body }), { status: 'verify_email' })
  const email = await nextEmailTo(mail, body.email)
  const { data: accounts } = await server.admin<{ data: { email: string }[] }>('GET', '/accounts')
  assert.equal(
    accounts.some(({ email }) => email === body.email),
    false,
    'no account exists yet',
  )
  const token = tokenInEmail(email)
  const signedIn = await session.call(signUpEndpoints.verifyEmail, { body: { token } })
  assert.deepEqual(
    [signedIn.session.person?.email_verified, signedIn.session.account?.email],
    [true, 'ann@example.com'],
  )
  assert.equal(
    (await session.expectError(signUpEndpoints.verifyEmail, { body: { token } })).code,
    'link_invalid',
  )
  const wallet = (await (await session.fetch('GET', '/api/console/billing')).json()) as { balance: string }
  assert.equal(wallet.balance, '2', 'the trial credit of the promotion')
  const again = new ConsoleSession(server.url)
  assert.deepEqual(await again.call(signUpEndpoints.signUp, { body }), { status: 'verify_email' })
  assert.ok(!/verify-email/.test(await nextEmailTo(mail, body.email)))
}

describe('Authentication factors', () => {
  test('Authenticator app – is required at sign-in, codes work once, recovery codes replace it', async () => {
    const ann = await signUpCustomer(server, 'totp@example.com')
    const rejected = await ann.expectError(profileEndpoints.beginTotp, { body: { password: 'wrong' } })
    assert.equal(rejected.code, 'wrong_credentials')
    const { secret, qr, uri } = await ann.call(profileEndpoints.beginTotp, {
      body: { password: validPassword },
    })
    assert.match(qr, /^<svg/)
    assert.match(uri, /^otpauth:\/\/totp\//)
    const app = new TOTP({ secret: Secret.fromBase32(secret) })
    assert.equal(
      (await ann.expectError(profileEndpoints.confirmTotp, { body: { code: '000000' } })).code,
      'wrong_code',
    )
    const code = app.generate()
    const { recovery_codes: codes } = await ann.call(profileEndpoints.confirmTotp, { body: { code } })
    assert.equal(codes.length, 10)
    const signIn = async (): Promise<{ browser: ConsoleSession; ticket: string }> => {
      const session = new ConsoleSession(server.url)
      const body = { email: 'totp@example.com', password: validPassword }
      const response = await session.call(signInEndpoints.signIn, { body })
      assert.ok(response.status === 'second_factor')
      assert.equal((await session.session()).person, null)
      return { browser: session, ticket: response.ticket }
    }
    const first = await signIn()
    const used = await first.browser.expectError(signInEndpoints.secondFactor, {
      body: { ticket: first.ticket, code },
    })
    assert.equal(used.code, 'wrong_code', 'a code works once')
    const later = app.generate({ timestamp: Date.now() + 30_000 })
    await first.browser.call(signInEndpoints.secondFactor, { body: { ticket: first.ticket, code: later } })
    assert.equal((await first.browser.session()).person?.totp, true)
    const second = await signIn()
    const [recovery = ''] = codes
    await second.browser.call(signInEndpoints.secondFactor, {
      body: { ticket: second.ticket, code: recovery.toUpperCase() },
    })
    assert.equal((await second.browser.session()).person?.recovery_codes_left, 9)
    const third = await signIn()
    for (let count = 0; count < 5; count += 1) {
      const body = { ticket: third.ticket, code: recovery }
      assert.equal(
        (await third.browser.expectError(signInEndpoints.secondFactor, { body })).code,
        'wrong_code',
      )
    }
    const exhausted = { ticket: third.ticket, code: codes[1] ?? '' }
    assert.equal(
      (await third.browser.expectError(signInEndpoints.secondFactor, { body: exhausted })).code,
      'link_invalid',
    )
    await ann.call(profileEndpoints.endTotp, { body: { password: validPassword } })
    await third.browser.signIn('totp@example.com', validPassword)
  })

  test('Authenticator apps and passkeys – show the name of the service', async (t) => {
    await server.admin('PUT', '/branding', { name: 'Acme AI' })
    t.after(() => server.admin('PUT', '/branding', { name: null }))
    const ann = await signUpCustomer(server, 'named@example.com')
    const begin = { body: { password: validPassword } }
    const { uri } = await ann.call(profileEndpoints.beginTotp, begin)
    assert.equal(new URL(uri).searchParams.get('issuer'), 'Acme AI')
    const { options } = await ann.call(profileEndpoints.passkeyOptions, begin)
    assert.deepEqual(options['rp'], { name: 'Acme AI', id: '127.0.0.1' })
  })

  test('Passkey – signs in once per challenge, only unlocked and only for this origin', async () => {
    const origin = server.url.replace('127.0.0.1', 'localhost')
    const ann = await signUpCustomer(server, 'passkey@example.com')
    const device = new SoftwareAuthenticator(origin)
    const begin = { body: { password: validPassword } }
    const offered = await ann.call(profileEndpoints.passkeyOptions, begin)
    const otherOrigin = {
      ticket: offered.ticket,
      response: device.create(offered.options),
      name: 'Other origin',
    }
    assert.equal(
      (await ann.expectError(profileEndpoints.createPasskey, { body: otherOrigin })).code,
      'wrong_credentials',
    )
    const local = new SoftwareAuthenticator(server.url)
    const offer = await ann.call(profileEndpoints.passkeyOptions, begin)
    const added = await ann.call(profileEndpoints.createPasskey, {
      body: { ticket: offer.ticket, response: local.create(offer.options), name: 'My phone' },
    })
    assert.deepEqual((await ann.call(profileEndpoints.listPasskeys)).data, [added])
    const session = new ConsoleSession(server.url)
    const locked = await session.call(signInEndpoints.passkeyOptions)
    const body = { ticket: locked.ticket, response: local.get(locked.options, false) }
    assert.equal(
      (await session.expectError(signInEndpoints.passkeySignIn, { body })).code,
      'wrong_credentials',
    )
    const { ticket, options } = await session.call(signInEndpoints.passkeyOptions)
    const response = local.get(options)
    const signedIn = await session.call(signInEndpoints.passkeySignIn, { body: { ticket, response } })
    assert.equal(signedIn.session.person?.email, 'passkey@example.com')
    const again = await session.expectError(signInEndpoints.passkeySignIn, { body: { ticket, response } })
    assert.equal(again.code, 'link_invalid')
    await ann.call(profileEndpoints.deletePasskey, { id: added.id })
    const later = await session.call(signInEndpoints.passkeyOptions)
    const deleted = { ticket: later.ticket, response: local.get(later.options) }
    assert.equal(
      (await session.expectError(signInEndpoints.passkeySignIn, { body: deleted })).code,
      'wrong_credentials',
    )
  })

  test('Links by e-mail – reset a password and verify the address of a new user', async (t) => {
    const mail = await startMailServer(t)
    await t.test('Password reset – works by e-mail, reveals no known address, and ends every session', () =>
      checkPasswordReset(mail),
    )
    await t.test(
      'Sign-up with e-mail verification – opens the account by link and reveals no known address',
      () => checkVerifiedSignUp(mail),
    )
  })
})
