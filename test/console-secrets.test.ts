/** What people prove themselves with is kept by nobody: not in the log, the audit log, any list, or the database file. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { entranceCalls } from '../src/http/console/contract/entrance.ts'
import { keyCalls } from '../src/http/console/contract/keys.ts'
import { personCalls } from '../src/http/console/contract/person.ts'
import { Browser, customerOf, goodPassword, operatorOf, printedToken } from './browser.ts'
import { openHouse } from './support/server/test-server.ts'
import { bytesInDatabase } from './support/server/database-access.ts'

test('passwords, tokens, codes and secrets go in and never come out', async (t) => {
  const house = await openHouse(t, { env: { SIGN_UP: 'open' } })
  const setUpToken = await printedToken(house)
  const boss = await operatorOf(house)
  const ann = await customerOf(house, 'ann@example.com')
  const guess = 'canary-guess-of-a-password'
  await new Browser(house.url).send(entranceCalls.signIn, {
    body: { email: 'ann@example.com', password: guess },
  })
  await ann.send(personCalls.changePassword, { body: { current: guess, password: 'canary-new-password' } })
  const { secret } = await ann.ask(personCalls.beginTotp, { body: { password: goodPassword } })
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate()
  const { recovery_codes: codes } = await ann.ask(personCalls.confirmTotp, { body: { code } })
  const key = await ann.ask(keyCalls.create, { body: { name: 'canary' } })
  const person = (await ann.session()).person?.id ?? ''
  const link = await boss.admin<{ url: string }>('POST', `/people/${person}/access-link`, {})
  const invite = await boss.admin<{ code: string }>('POST', '/invites', {})
  const broken = await ann.fetch('POST', '/api/console/sign-in', `{"password":"${guess}`)
  const secrets = [
    goodPassword,
    guess,
    'canary-new-password',
    setUpToken,
    secret,
    ...codes,
    key.secret,
    link.url.slice(link.url.indexOf('#') + 1),
    invite.code,
    ...ann.cookies.values(),
    ...boss.cookies.values(),
  ]
  const told = [await broken.text()]
  for (const path of [
    '/people',
    '/invites',
    '/audit?limit=200',
    '/settings',
    '/accounts',
    '/search?q=ann@',
  ]) {
    told.push(JSON.stringify(await boss.admin('GET', path)))
  }
  for (const path of ['/session', '/me/sessions', '/me/passkeys', '/keys', '/keys.csv', '/requests.csv']) {
    told.push(await (await ann.fetch('GET', `/api/console${path}`)).text())
  }
  told.push(await (await fetch(`${house.url}/metrics`)).text())
  // The printed link is meant to be read where the relay was started, and nowhere else.
  told.push(house.log.filter((line) => !line.includes('/set-up#')).join('\n'))
  await house.stop()
  told.push((await bytesInDatabase(house.relay)).toString('latin1'))
  await house.restart()
  for (const [index, text] of told.entries()) {
    for (const each of secrets) assert.ok(!text.includes(each), `${each} is in text ${index}`)
  }
})
