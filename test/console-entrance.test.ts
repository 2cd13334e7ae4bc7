/** How people come in: the set-up by the printed link, signing up, in and out, and what strangers and other sites get. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entranceCalls } from '../src/http/console/contract/entrance.ts'
import { operatorCalls } from '../src/http/console/contract/operator.ts'
import { personCalls } from '../src/http/console/contract/person.ts'
import { Browser, customerOf, goodPassword, operatorOf, printedToken, refusalIn } from './browser.ts'
import { question } from './support/server/account.ts'
import { openHouse } from './support/server/test-server.ts'
import { saying } from './support/upstream/scripted-responses.ts'

test('the first start prints a link that makes the operator once, and there is no password before', async (t) => {
  const house = await openHouse(t)
  const browser = new Browser(house.url)
  const stranger = await browser.session()
  assert.equal(stranger.person, null)
  assert.equal(stranger.platform.features.set_up_needed, true)
  const token = await printedToken(house)
  const body = { token, email: 'Boss@Example.com', password: goodPassword, name: 'The boss' }
  const weak = await browser.refused(entranceCalls.setUp, { body: { ...body, password: 'short' } })
  assert.deepEqual([weak.status, weak.code, weak.param], [400, 'password_refused', 'password'])
  const came = await browser.ask(entranceCalls.setUp, { body })
  assert.partialDeepStrictEqual(came.session, {
    person: { email: 'Boss@Example.com', role: 'operator', name: 'The boss' },
    account: null,
    platform: { features: { set_up_needed: false } },
  })
  const again = await new Browser(house.url).refused(entranceCalls.setUp, {
    body: { ...body, email: 'b@b.example' },
  })
  assert.deepEqual([again.status, again.code], [404, 'link_invalid'])
  await house.restart()
  assert.equal(
    house.relay.lines.some((line) => line.includes('/set-up#')),
    false,
  )
  assert.equal((await browser.session()).person?.role, 'operator', 'a session outlives a restart')
})

test('an operator reaches the automation contract by session, in the own name, also without ADMIN_API_KEY', async (t) => {
  const house = await openHouse(t, { env: { ADMIN_API_KEY: '' } })
  const boss = await operatorOf(house)
  const { id } = await boss.admin<{ id: string }>('POST', '/accounts', { email: 'ann@example.com' })
  const audit = await boss.admin<{ data: { actor: string; action: string }[] }>('GET', `/audit?object=${id}`)
  assert.deepEqual(
    audit.data.map(({ actor, action }) => [actor, action]),
    [['operator:boss@example.com', 'account.create']],
  )
  const ann = await customerOf(house, 'other@example.com')
  for (const browser of [new Browser(house.url), ann]) {
    assert.equal((await browser.fetch('GET', '/api/admin/accounts')).status, 404)
  }
  const foreign = await boss.fetch(
    'POST',
    '/api/admin/accounts',
    { email: 'x@example.com' },
    { origin: 'https://evil.example' },
  )
  assert.equal((await refusalIn(foreign)).code, 'cross_site')
  await boss.ask(entranceCalls.signOut)
  assert.equal((await boss.fetch('GET', '/api/admin/accounts')).status, 404)
  await house.restart({ ADMIN_API_KEY: 'admin-key-of-the-tests-0123456789' })
})

test('who signs up without mail has an account at once, and may not take an address that is taken', async (t) => {
  const house = await openHouse(t)
  const ann = await customerOf(house, 'Ann@Example.com')
  const { person, account } = await ann.session()
  assert.partialDeepStrictEqual(person, { email: 'Ann@Example.com', role: 'customer', email_verified: false })
  assert.partialDeepStrictEqual(account, { email: 'Ann@Example.com', tier: 'new', status: 'active' })
  const body = { email: 'ann@example.COM', password: goodPassword }
  assert.equal((await new Browser(house.url).refused(entranceCalls.signUp, { body })).code, 'conflict')
  await house.admin('POST', '/accounts', { email: 'made@example.com' })
  const made = { email: 'made@example.com', password: goodPassword }
  assert.equal((await new Browser(house.url).refused(entranceCalls.signUp, { body: made })).code, 'conflict')
})

test('sign-up is closed or by invite where the operator says so, and an invite is used up', async (t) => {
  const house = await openHouse(t, { env: { SIGN_UP: 'invite' } })
  const { code } = await house.admin<{ code: string }>('POST', '/invites', { note: 'for two', uses: 2 })
  const signUp = (email: string, invite?: string) =>
    new Browser(house.url).send(entranceCalls.signUp, { body: { email, password: goodPassword, invite } })
  assert.equal((await refusalIn(await signUp('a@example.com'))).code, 'invite_invalid')
  assert.equal((await refusalIn(await signUp('a@example.com', 'nonsense'))).code, 'invite_invalid')
  assert.equal((await signUp('a@example.com', code)).status, 200)
  assert.equal((await signUp('b@example.com', ` ${code.toUpperCase()} `)).status, 200)
  assert.equal((await refusalIn(await signUp('c@example.com', code))).code, 'invite_invalid')
  await house.restart({ SIGN_UP: 'closed' })
  assert.equal((await refusalIn(await signUp('c@example.com', code))).code, 'sign_up_closed')
})

test('a wrong password, an unknown address and a closed door look the same, and guessing is stopped', async (t) => {
  const house = await openHouse(t)
  await customerOf(house, 'ann@example.com')
  const shut = await (await customerOf(house, 'shut@example.com')).session()
  await house.admin('PATCH', `/people/${shut.person?.id}`, { disabled: true })
  const attempts = [
    { email: 'ann@example.com', password: 'not the password' },
    { email: 'nobody@example.com', password: goodPassword },
    { email: 'no address', password: goodPassword },
    { email: 'shut@example.com', password: goodPassword },
  ]
  const answers = await Promise.all(
    attempts.map(async (body) => new Browser(house.url).refused(entranceCalls.signIn, { body })),
  )
  for (const answer of answers) assert.deepEqual(answer, answers[0])
  assert.deepEqual([answers[0]?.status, answers[0]?.code], [401, 'wrong_credentials'])
  for (const email of ['ann@example.com', 'nobody@example.com']) {
    const body = { email, password: 'a guess at random' }
    for (let count = 1; count < 10; count += 1)
      await new Browser(house.url).refused(entranceCalls.signIn, { body })
    const stopped = await new Browser(house.url).refused(entranceCalls.signIn, {
      body: { ...body, password: goodPassword },
    })
    assert.deepEqual([stopped.status, stopped.code], [429, 'rate_limit_exceeded'], email)
  }
})

test('each sign-in gets a new token, what was planted before is worth nothing, and signing out ends it', async (t) => {
  const house = await openHouse(t)
  await customerOf(house, 'ann@example.com')
  const browser = new Browser(house.url)
  browser.cookies.set('sluice', 'planted-by-somebody-else')
  assert.equal((await browser.session()).person, null)
  await browser.signIn('ANN@example.com', goodPassword)
  const first = browser.cookies.get('sluice') ?? ''
  assert.notEqual(first, 'planted-by-somebody-else')
  await browser.signIn('ann@example.com', goodPassword)
  const second = new Browser(house.url)
  second.cookies.set('sluice', first)
  assert.equal((await second.session()).person, null, 'the session before has ended')
  const reply = await browser.send(entranceCalls.signIn, {
    body: { email: 'ann@example.com', password: goodPassword },
  })
  assert.match(
    reply.headers.get('set-cookie') ?? '',
    /^sluice=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Expires=/,
  )
  const kept = browser.cookies.get('sluice') ?? ''
  await browser.ask(entranceCalls.signOut)
  second.cookies.set('sluice', kept)
  assert.equal((await second.session()).person, null)
})

test('over https the cookie is bound to the host and to secure connections', async (t) => {
  const house = await openHouse(t, { env: { PUBLIC_URL: 'https://relay.example' } })
  const browser = new Browser(house.url)
  const body = { email: 'ann@example.com', password: goodPassword }
  const headers = { origin: 'https://relay.example' }
  const reply = await browser.send(entranceCalls.signUp, { body, headers })
  assert.match(
    reply.headers.get('set-cookie') ?? '',
    /^__Host-sluice=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure;/,
  )
  assert.equal((await browser.session()).platform.public_url, 'https://relay.example')
})

test('nothing is changed at the word of another site', async (t) => {
  const house = await openHouse(t)
  const ann = await customerOf(house, 'ann@example.com')
  const body = { name: 'Mallory' }
  const path = '/api/console/me'
  const elsewhere: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { origin: `${house.url}.evil.example` },
  ]
  for (const headers of elsewhere) {
    const reply = await ann.fetch('PATCH', path, body, headers)
    assert.deepEqual(
      [reply.status, (await refusalIn(reply)).code],
      [403, 'cross_site'],
      JSON.stringify(headers),
    )
  }
  const cookie = `sluice=${ann.cookies.get('sluice')}`
  const silent = await fetch(`${house.url}${path}`, {
    method: 'PATCH',
    headers: { cookie, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.equal((await refusalIn(silent)).code, 'cross_site')
  const form = await ann.fetch('PATCH', path, 'name=Mallory', {
    'content-type': 'application/x-www-form-urlencoded',
  })
  assert.equal(form.status, 415)
  assert.equal((await ann.session()).person?.name, '')
})

test('sessions are listed and ended, one and all others; a new password ends the others', async (t) => {
  const house = await openHouse(t)
  const ann = await customerOf(house, 'ann@example.com')
  const others = [new Browser(house.url), new Browser(house.url), new Browser(house.url)]
  for (const other of others) await other.signIn('ann@example.com', goodPassword)
  const { data } = await ann.ask(personCalls.sessions)
  assert.deepEqual(
    data.map((each) => each.current),
    [false, false, false, true],
  )
  await ann.ask(personCalls.endSession, { id: data[0]?.id ?? '' })
  assert.equal((await others[2]?.session())?.person, null)
  const password = 'another quiet harbour'
  const wrong = await ann.refused(personCalls.changePassword, { body: { current: 'no', password } })
  assert.deepEqual([wrong.code, wrong.param], ['wrong_credentials', 'password'])
  await ann.ask(personCalls.changePassword, { body: { current: goodPassword, password } })
  assert.equal((await others[1]?.session())?.person, null)
  assert.equal((await ann.session()).person?.email, 'ann@example.com')
  await others[1]?.signIn('ann@example.com', password)
  assert.equal((await ann.ask(personCalls.endOtherSessions)).ended, 1)
  const mallory = await customerOf(house, 'mallory@example.com')
  const [own] = (await ann.ask(personCalls.sessions)).data
  assert.equal((await mallory.refused(personCalls.endSession, { id: own?.id ?? '' })).status, 404)
  assert.equal((await ann.session()).person?.email, 'ann@example.com')
})

test('an operator signs in as an account, visibly, and the audit log tells it', async (t) => {
  const house = await openHouse(t)
  const boss = await operatorOf(house)
  const ann = await customerOf(house, 'ann@example.com')
  const { account } = await ann.session()
  assert.equal((await ann.refused(operatorCalls.actAs, { id: account?.id ?? '' })).code, 'operators_only')
  const acting = await boss.ask(operatorCalls.actAs, { id: account?.id ?? '' })
  assert.deepEqual([acting.acting, acting.account?.id], [true, account?.id])
  assert.equal((await boss.ask(operatorCalls.stopActing)).account, null)
  const audit = await boss.admin<{ data: { actor: string; action: string }[] }>(
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

test('an account that a script has made gets its person by a link that opens once', async (t) => {
  const house = await openHouse(t)
  const upstream = await house.upstream(saying('Hello!'))
  await house.model('m', { upstreams: [upstream] })
  const account = await house.account({ balance: '1' })
  const { url } = await house.admin<{ url: string }>('POST', `/accounts/${account.id}/access-link`)
  const token = url.slice(url.indexOf('#') + 1)
  const browser = new Browser(house.url)
  await browser.ask(entranceCalls.reset, { body: { token, password: goodPassword } })
  assert.equal(
    (await browser.refused(entranceCalls.reset, { body: { token, password: goodPassword } })).code,
    'link_invalid',
  )
  const { email } = await account.state()
  await browser.signIn(email, goodPassword)
  assert.equal((await browser.session()).account?.id, account.id)
  assert.equal((await account.post(question('m'))).status, 200)
  await house.nothingHeld()
})

test('one more operator comes in by a link of the first, and people are found, locked out and let in again', async (t) => {
  const house = await openHouse(t)
  const boss = await operatorOf(house)
  const { url } = await boss.admin<{ url: string }>('POST', '/operators/link')
  const second = new Browser(house.url)
  const body = { token: url.slice(url.indexOf('#') + 1), email: 'second@example.com', password: goodPassword }
  assert.equal((await second.ask(entranceCalls.setUp, { body })).session.person?.role, 'operator')
  const ann = await customerOf(house, 'ann@example.com')
  const operators = await boss.admin<{ data: { email: string }[] }>('GET', '/people?role=operator')
  assert.deepEqual(
    operators.data.map(({ email }) => email),
    ['second@example.com', 'boss@example.com'],
  )
  const { person } = await ann.session()
  const path = `/people/${person?.id}`
  await boss.admin('PATCH', path, { disabled: true })
  assert.equal((await ann.session()).person, null)
  await boss.admin('PATCH', path, { disabled: false })
  assert.equal((await ann.session()).person, null, 'what has ended stays ended')
  const link = await boss.admin<{ url: string }>('POST', `${path}/access-link`, {})
  const password = 'yet another harbour'
  await ann.ask(entranceCalls.reset, { body: { token: link.url.slice(link.url.indexOf('#') + 1), password } })
  await ann.signIn('ann@example.com', password)
})

test('an invite is listed without its code and ended', async (t) => {
  const house = await openHouse(t)
  const { id, code } = await house.admin<{ id: string; code: string }>('POST', '/invites', { note: 'x' })
  const list = await house.admin<{ data: { id: string }[] }>('GET', '/invites')
  assert.deepEqual([list.data[0]?.id, JSON.stringify(list).includes(code)], [id, false])
  await house.admin('DELETE', `/invites/${id}`)
  assert.deepEqual((await house.admin<{ data: object[] }>('GET', '/invites')).data, [])
})
