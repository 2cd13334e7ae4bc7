/** Proving who one is: letters to the address, codes of an app, recovery codes, passkeys. Each works once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { entranceCalls } from '../src/http/console/contract/entrance.ts'
import { personCalls } from '../src/http/console/contract/person.ts'
import { SoftAuthenticator } from './support/console/passkey-authenticator.ts'
import { Browser, customerOf, goodPassword } from './browser.ts'
import { openHouse } from './support/server/test-server.ts'
import { openMailServer, tokenInLetter } from './support/sinks/mail-server.ts'

test('where mail is sent, an account is opened only by the letter’s link, and a known address is not told', async (t) => {
  const mail = await openMailServer(t)
  const house = await openHouse(t, { env: { SMTP_URL: mail.url } })
  const browser = new Browser(house.url)
  const promotion = { name: 'Welcome', amount: '2' }
  await house.admin('POST', '/promotions', promotion)
  const body = { email: 'ann@example.com', password: goodPassword, name: 'Ann' }
  assert.deepEqual(await browser.ask(entranceCalls.signUp, { body }), { status: 'verify_email' })
  const letter = await mail.next()
  assert.match(letter, /To: ann@example\.com/i)
  assert.equal(
    (await house.admin<{ data: object[] }>('GET', '/accounts')).data.length,
    0,
    'nothing is opened yet',
  )
  const token = tokenInLetter(letter)
  const came = await browser.ask(entranceCalls.verifyEmail, { body: { token } })
  assert.deepEqual(
    [came.session.person?.email_verified, came.session.account?.email],
    [true, 'ann@example.com'],
  )
  assert.equal((await browser.refused(entranceCalls.verifyEmail, { body: { token } })).code, 'link_invalid')
  const wallet = (await (await browser.fetch('GET', '/api/console/billing')).json()) as { balance: string }
  assert.equal(wallet.balance, '2', 'the trial credit of the promotion')
  const again = new Browser(house.url)
  assert.deepEqual(await again.ask(entranceCalls.signUp, { body }), { status: 'verify_email' })
  assert.ok(!/verify-email/.test(await mail.next()))
  await house.nothingHeld()
})

test('a lost password is reset by mail, the same answer for whoever asks, and every session ends', async (t) => {
  const mail = await openMailServer(t)
  const house = await openHouse(t)
  const ann = await customerOf(house, 'ann@example.com')
  assert.equal(
    (await ann.refused(entranceCalls.askReset, { body: { email: 'ann@example.com' } })).status,
    404,
  )
  await house.restart({ SMTP_URL: mail.url })
  for (const email of ['nobody@example.com', 'ann@example.com']) {
    assert.deepEqual(await new Browser(house.url).ask(entranceCalls.askReset, { body: { email } }), {
      done: true,
    })
  }
  const letter = await mail.next()
  assert.match(letter, /To: ann@example\.com/i)
  const password = 'a new and better harbour'
  const token = tokenInLetter(letter)
  await new Browser(house.url).ask(entranceCalls.reset, { body: { token, password } })
  assert.equal((await ann.session()).person, null)
  const old = { email: 'ann@example.com', password: goodPassword }
  assert.equal((await ann.refused(entranceCalls.signIn, { body: old })).code, 'wrong_credentials')
  await ann.signIn('ann@example.com', password)
  assert.equal((await ann.session()).person?.email_verified, true)
})

test('with an authenticator app a password is not enough, each code works once, and recovery codes open when it is lost', async (t) => {
  const house = await openHouse(t)
  const ann = await customerOf(house, 'ann@example.com')
  const unproved = await ann.refused(personCalls.beginTotp, { body: { password: 'wrong' } })
  assert.equal(unproved.code, 'wrong_credentials')
  const { secret, qr, uri } = await ann.ask(personCalls.beginTotp, { body: { password: goodPassword } })
  assert.match(qr, /^<svg/)
  assert.match(uri, /^otpauth:\/\/totp\//)
  const app = new TOTP({ secret: Secret.fromBase32(secret) })
  assert.equal((await ann.refused(personCalls.confirmTotp, { body: { code: '000000' } })).code, 'wrong_code')
  const code = app.generate()
  const { recovery_codes: codes } = await ann.ask(personCalls.confirmTotp, { body: { code } })
  assert.equal(codes.length, 10)
  const signIn = async (): Promise<{ browser: Browser; ticket: string }> => {
    const browser = new Browser(house.url)
    const body = { email: 'ann@example.com', password: goodPassword }
    const answer = await browser.ask(entranceCalls.signIn, { body })
    assert.ok(answer.status === 'second_factor')
    assert.equal((await browser.session()).person, null)
    return { browser, ticket: answer.ticket }
  }
  const first = await signIn()
  const used = await first.browser.refused(entranceCalls.secondFactor, {
    body: { ticket: first.ticket, code },
  })
  assert.equal(used.code, 'wrong_code', 'the code that was shown before')
  const later = app.generate({ timestamp: Date.now() + 30_000 })
  await first.browser.ask(entranceCalls.secondFactor, { body: { ticket: first.ticket, code: later } })
  assert.equal((await first.browser.session()).person?.totp, true)
  const second = await signIn()
  const [recovery = ''] = codes
  await second.browser.ask(entranceCalls.secondFactor, {
    body: { ticket: second.ticket, code: recovery.toUpperCase() },
  })
  assert.equal((await second.browser.session()).person?.recovery_codes_left, 9)
  const third = await signIn()
  for (let count = 0; count < 5; count += 1) {
    const body = { ticket: third.ticket, code: recovery }
    assert.equal((await third.browser.refused(entranceCalls.secondFactor, { body })).code, 'wrong_code')
  }
  const spent = { ticket: third.ticket, code: codes[1] ?? '' }
  assert.equal(
    (await third.browser.refused(entranceCalls.secondFactor, { body: spent })).code,
    'link_invalid',
  )
  await ann.ask(personCalls.endTotp, { body: { password: goodPassword } })
  await third.browser.signIn('ann@example.com', goodPassword)
})

test('a passkey signs in by itself, once per challenge, unlocked, and for this origin alone', async (t) => {
  const house = await openHouse(t)
  const origin = house.url.replace('127.0.0.1', 'localhost')
  const ann = await customerOf(house, 'ann@example.com')
  const device = new SoftAuthenticator(origin)
  const begin = { body: { password: goodPassword } }
  const own = await ann.ask(personCalls.passkeyOptions, begin)
  const foreign = { ticket: own.ticket, response: device.create(own.options), name: 'Foreign' }
  assert.equal((await ann.refused(personCalls.addPasskey, { body: foreign })).code, 'wrong_credentials')
  const local = new SoftAuthenticator(house.url)
  const offer = await ann.ask(personCalls.passkeyOptions, begin)
  const added = await ann.ask(personCalls.addPasskey, {
    body: { ticket: offer.ticket, response: local.create(offer.options), name: 'My phone' },
  })
  assert.deepEqual((await ann.ask(personCalls.passkeys)).data, [added])
  const browser = new Browser(house.url)
  const locked = await browser.ask(entranceCalls.passkeyOptions)
  const body = { ticket: locked.ticket, response: local.get(locked.options, false) }
  assert.equal((await browser.refused(entranceCalls.passkeySignIn, { body })).code, 'wrong_credentials')
  const { ticket, options } = await browser.ask(entranceCalls.passkeyOptions)
  const response = local.get(options)
  const came = await browser.ask(entranceCalls.passkeySignIn, { body: { ticket, response } })
  assert.equal(came.session.person?.email, 'ann@example.com')
  const again = await browser.refused(entranceCalls.passkeySignIn, { body: { ticket, response } })
  assert.equal(again.code, 'link_invalid')
  await ann.ask(personCalls.endPasskey, { id: added.id })
  const gone = await browser.ask(entranceCalls.passkeyOptions)
  const late = { ticket: gone.ticket, response: local.get(gone.options) }
  assert.equal((await browser.refused(entranceCalls.passkeySignIn, { body: late })).code, 'wrong_credentials')
})
