// @backend both (cluster in long runs)
/** Sessions, impersonation, access links, operators and invites. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { impersonationEndpoints } from '../../../src/http/console/auth/impersonation.ts'
import { passwordResetEndpoints } from '../../../src/http/console/auth/password-reset.ts'
import { profileEndpoints } from '../../../src/http/console/auth/profile.ts'
import { signUpEndpoints } from '../../../src/http/console/auth/sign-up.ts'
import {
  ConsoleSession,
  signUpCustomer,
  validPassword,
  setUpOperator,
} from '../../support/console/console-session.ts'
import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const operator = await setUpOperator(server)

describe('User management', () => {
  test('Sessions – are listed and ended, one or all others; a new password ends the others', async () => {
    const ann = await signUpCustomer(server, 'ann@example.com')
    const others = [
      new ConsoleSession(server.url),
      new ConsoleSession(server.url),
      new ConsoleSession(server.url),
    ]
    for (const other of others) await other.signIn('ann@example.com', validPassword)
    const { data } = await ann.call(profileEndpoints.listSessions)
    assert.deepEqual(
      data.map((each) => each.current),
      [false, false, false, true],
    )
    await ann.call(profileEndpoints.endSession, { id: data[0]?.id ?? '' })
    assert.equal((await others[2]?.session())?.person, null)
    const password = 'another quiet harbour'
    const rejected = await ann.expectError(profileEndpoints.changePassword, {
      body: { current: 'no', password },
    })
    assert.deepEqual([rejected.code, rejected.param], ['wrong_credentials', 'password'])
    await ann.call(profileEndpoints.changePassword, { body: { current: validPassword, password } })
    assert.equal((await others[1]?.session())?.person, null)
    assert.equal((await ann.session()).person?.email, 'ann@example.com')
    await others[1]?.signIn('ann@example.com', password)
    assert.equal((await ann.call(profileEndpoints.endOtherSessions)).ended, 1)
    const mallory = await signUpCustomer(server, 'mallory@example.com')
    const [current] = (await ann.call(profileEndpoints.listSessions)).data
    assert.equal(
      (await mallory.expectError(profileEndpoints.endSession, { id: current?.id ?? '' })).status,
      404,
    )
    assert.equal((await ann.session()).person?.email, 'ann@example.com')
  })

  test('Impersonation – shows the account to the operator and is recorded in the audit log', async () => {
    const bob = await signUpCustomer(server, 'bob@example.com')
    const { account } = await bob.session()
    assert.equal(
      (await bob.expectError(impersonationEndpoints.start, { id: account?.id ?? '' })).code,
      'operators_only',
    )
    const impersonation = await operator.call(impersonationEndpoints.start, { id: account?.id ?? '' })
    assert.deepEqual([impersonation.acting, impersonation.account?.id], [true, account?.id])
    assert.equal((await operator.call(impersonationEndpoints.stop)).account, null)
    const audit = await operator.admin<{ data: { actor: string; action: string }[] }>(
      'GET',
      `/audit?object=${account?.id}`,
    )
    assert.deepEqual(
      audit.data.slice(0, 2).map(({ actor, action }) => [actor, action]),
      [
        ['operator:boss@example.com', 'account.act_end'],
        ['operator:boss@example.com', 'account.act'],
      ],
    )
  })

  test('Account without a user – gets one by a link that works once', async () => {
    const upstream = await server.upstream(respondWith('Hello!'))
    await server.model('m', { upstreams: [upstream] })
    const account = await server.account({ balance: '1' })
    const { url } = await server.admin<{ url: string }>('POST', `/accounts/${account.id}/access-link`)
    const token = url.slice(url.indexOf('#') + 1)
    const session = new ConsoleSession(server.url)
    await session.call(passwordResetEndpoints.resetPassword, { body: { token, password: validPassword } })
    assert.equal(
      (
        await session.expectError(passwordResetEndpoints.resetPassword, {
          body: { token, password: validPassword },
        })
      ).code,
      'link_invalid',
    )
    const { email } = await account.state()
    await session.signIn(email, validPassword)
    assert.equal((await session.session()).account?.id, account.id)
    assert.equal((await account.post(chatRequest('m'))).status, 200)
  })

  test('Users – a link adds an operator; users are listed, disabled and enabled again', async () => {
    await operator.call(profileEndpoints.confirm, { body: { password: validPassword } })
    const { url } = await operator.admin<{ url: string }>('POST', '/operators/link')
    const second = new ConsoleSession(server.url)
    const body = {
      token: url.slice(url.indexOf('#') + 1),
      email: 'second@example.com',
      password: validPassword,
    }
    assert.equal((await second.call(signUpEndpoints.setUp, { body })).session.person?.role, 'operator')
    const carol = await signUpCustomer(server, 'carol@example.com')
    const operators = await operator.admin<{ data: { email: string }[] }>('GET', '/people?role=operator')
    assert.deepEqual(
      operators.data.map(({ email }) => email),
      ['second@example.com', 'boss@example.com'],
    )
    const { person } = await carol.session()
    const path = `/people/${person?.id}`
    await operator.admin('PATCH', path, { disabled: true })
    assert.equal((await carol.session()).person, null)
    await operator.admin('PATCH', path, { disabled: false })
    assert.equal((await carol.session()).person, null, 'an ended session stays ended')
    const link = await operator.admin<{ url: string }>('POST', `${path}/access-link`, {})
    const password = 'yet another harbour'
    await carol.call(passwordResetEndpoints.resetPassword, {
      body: { token: link.url.slice(link.url.indexOf('#') + 1), password },
    })
    await carol.signIn('carol@example.com', password)
  })

  test('Invite – is listed without its code and deleted', async () => {
    const { id, code } = await server.admin<{ id: string; code: string }>('POST', '/invites', { note: 'x' })
    const list = await server.admin<{ data: { id: string }[] }>('GET', '/invites')
    assert.deepEqual([list.data[0]?.id, JSON.stringify(list).includes(code)], [id, false])
    await server.admin('DELETE', `/invites/${id}`)
    assert.deepEqual((await server.admin<{ data: object[] }>('GET', '/invites')).data, [])
  })
})
