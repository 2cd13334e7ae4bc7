// @backend both
/** Passwords, tokens and codes never appear in the log, the audit log, any list, or the database file. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { keyEndpoints } from '../../../src/http/console/account/keys.ts'
import { profileEndpoints } from '../../../src/http/console/auth/profile.ts'
import { signInEndpoints } from '../../../src/http/console/auth/sign-in.ts'
import {
  ConsoleSession,
  signUpCustomer,
  validPassword,
  setUpOperator,
  readSetUpToken,
} from '../../support/console/console-session.ts'
import { startTestServer } from '../../support/server/test-server.ts'
import { readDatabaseBytes } from '../../support/server/database-access.ts'

describe('Console secrets', () => {
  test('Passwords, tokens, codes and secrets – never appear in any output or in the database', async (t) => {
    const server = await startTestServer(t, { env: { SIGN_UP: 'open' } })
    const setUpToken = readSetUpToken(server)
    const operator = await setUpOperator(server)
    const ann = await signUpCustomer(server, 'ann@example.com')
    const guess = 'canary-guess-of-a-password'
    await new ConsoleSession(server.url).send(signInEndpoints.signIn, {
      body: { email: 'ann@example.com', password: guess },
    })
    await ann.send(profileEndpoints.changePassword, {
      body: { current: guess, password: 'canary-new-password' },
    })
    const { secret } = await ann.call(profileEndpoints.beginTotp, { body: { password: validPassword } })
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate()
    const { recovery_codes: codes } = await ann.call(profileEndpoints.confirmTotp, { body: { code } })
    const key = await ann.call(keyEndpoints.create, { body: { name: 'canary' } })
    const person = (await ann.session()).person?.id ?? ''
    const link = await operator.admin<{ url: string }>('POST', `/people/${person}/access-link`, {})
    const invite = await operator.admin<{ code: string }>('POST', '/invites', {})
    const broken = await ann.fetch('POST', '/api/console/sign-in', `{"password":"${guess}`)
    const secrets = [
      validPassword,
      guess,
      'canary-new-password',
      setUpToken,
      secret,
      ...codes,
      key.secret,
      link.url.slice(link.url.indexOf('#') + 1),
      invite.code,
      ...ann.cookies.values(),
      ...operator.cookies.values(),
    ]
    const outputs = [await broken.text()]
    for (const path of [
      '/people',
      '/invites',
      '/audit?limit=200',
      '/settings',
      '/accounts',
      '/search?q=ann@',
    ]) {
      outputs.push(JSON.stringify(await operator.admin('GET', path)))
    }
    for (const path of ['/session', '/me/sessions', '/me/passkeys', '/keys', '/keys.csv', '/requests.csv']) {
      outputs.push(await (await ann.fetch('GET', `/api/console${path}`)).text())
    }
    outputs.push(await (await fetch(`${server.url}/metrics`)).text())
    outputs.push(server.log.join('\n'))
    await server.assertNoOpenHolds()
    await server.stop()
    outputs.push((await readDatabaseBytes(server.relay)).toString('latin1'))
    for (const [index, text] of outputs.entries()) {
      for (const each of secrets) assert.ok(!text.includes(each), `${each} is in text ${index}`)
    }
  })
})
