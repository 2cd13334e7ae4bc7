// @backend both (cluster in long runs)
/** A relay behind https, without ADMIN_API_KEY and with invites: set-up by a link, and its first restart. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { after, before, describe, test } from 'node:test'
import { signInEndpoints } from '../../../src/http/console/auth/sign-in.ts'
import { signUpEndpoints } from '../../../src/http/console/auth/sign-up.ts'
import { billingEndpoints } from '../../../src/http/console/billing/billing.ts'
import {
  ConsoleSession,
  validPassword,
  readError,
  readSetUpToken,
} from '../../support/console/console-session.ts'
import { setupLinkFileName } from '../../../src/process/setup-link-file.ts'
import { startRelay } from '../../support/server/relay-process.ts'
import { TestServer } from '../../support/server/test-server.ts'
import { freePort } from '../../support/upstream/unreachable-addresses.ts'
import { waitUntil } from '../../support/wait.ts'

const program = fileURLToPath(new URL('../../../bin/sluice.js', import.meta.url))
/** Runs a program on a terminal. */
const scriptSkipReason =
  spawnSync('script', ['--version']).status === 0 ? false : 'script of util-linux is not installed'
const publicUrl = 'https://relay.example'
const env = { ADMIN_API_KEY: '', SIGN_UP: 'invite', PUBLIC_URL: publicUrl }
const dataDir = await mkdtemp(join(tmpdir(), 'sluice-test-'))
// Not a shared test server, which checks for open holds after each test: there is no API key for that at first.
const server = new TestServer(await startRelay({ dataDir, env }), { env })
after(() => server.close())

const openSession = (): ConsoleSession => new ConsoleSession(server.url, publicUrl)
const operator = openSession()

function signUp(session: ConsoleSession, email: string, invite?: string): Promise<Response> {
  return session.send(signUpEndpoints.signUp, { body: { email, password: validPassword, invite } })
}

async function createInvite(uses = 1): Promise<string> {
  return (await operator.admin<{ code: string }>('POST', '/invites', { note: 'test', uses })).code
}

describe('First start', () => {
  test('Set-up link without a terminal – is in a file of the owner, and the output is JSON lines', async () => {
    const path = join(dataDir, setupLinkFileName)
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.match(readFileSync(path, 'utf8'), /^https:\/\/relay\.example\/console\/set-up#\S+\n$/)
    const line = await waitUntil(
      async () => server.log.find((each) => each.includes('open the one-time link')),
      'the path of the file',
    )
    assert.equal((JSON.parse(line) as { file: string }).file, path)
    for (const each of server.log) assert.equal(typeof JSON.parse(each), 'object')
    assert.ok(!server.log.join().includes('set-up#'))
  })

  test('Set-up link with a terminal – is printed, and in no file', { skip: scriptSkipReason }, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
    const command = `${process.execPath} ${program} serve`
    const { PATH } = process.env
    const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      env: {
        PATH,
        DATA_DIR: folder,
        PORT: String(await freePort()),
        DEMO: '0',
        WORKERS: '1',
        DRAIN_DELAY: '0s',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    // The relay outlives its terminal.
    const holder = join(folder, 'lock.json')
    const relayPid = (): number => (JSON.parse(readFileSync(holder, 'utf8')) as { pid: number }).pid
    t.after(async () => {
      child.kill('SIGKILL')
      if (existsSync(holder)) process.kill(relayPid(), 'SIGKILL')
      await rm(folder, { recursive: true, force: true })
    })
    let output = ''
    child.stdout.on('data', (part: Buffer) => (output += part.toString()))
    await waitUntil(async () => /\/console\/set-up#\S+/.exec(output) ?? undefined, 'the link')
    assert.deepEqual(readdirSync(folder).includes(setupLinkFileName), false)
    const exited = once(child, 'exit')
    process.kill(relayPid(), 'SIGTERM')
    await exited
  })

  test('First start – has a link that creates the operator once; there is no default password', async () => {
    const anonymous = await operator.session()
    assert.equal(anonymous.person, null)
    assert.equal(anonymous.platform.features.set_up_needed, true)
    const token = readSetUpToken(server)
    const body = { token, email: 'Boss@Example.com', password: validPassword, name: 'The boss' }
    const weak = await operator.expectError(signUpEndpoints.setUp, { body: { ...body, password: 'short' } })
    assert.deepEqual([weak.status, weak.code, weak.param], [400, 'password_refused', 'password'])
    const signedIn = await operator.call(signUpEndpoints.setUp, { body })
    assert.partialDeepStrictEqual(signedIn.session, {
      person: { email: 'Boss@Example.com', role: 'operator', name: 'The boss' },
      account: null,
      platform: { features: { set_up_needed: false } },
    })
    const again = await openSession().expectError(signUpEndpoints.setUp, {
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
    await second.call(signInEndpoints.signOut)
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
    assert.equal((await session.call(billingEndpoints.wallet)).balance, '2')
  })

  describe('Restart with SIGN_UP=closed', () => {
    before(() => server.restart({ SIGN_UP: 'closed', ADMIN_API_KEY: 'admin-key-of-the-tests-0123456789' }))

    test('Restart – has no set-up link, and a session survives it', async () => {
      assert.equal((await operator.session()).person?.role, 'operator')
      assert.equal(existsSync(join(dataDir, setupLinkFileName)), false)
    })

    test('SIGN_UP=closed – closes sign-up, also for an invite', async () => {
      const response = await signUp(openSession(), 'c@example.com', await createInvite())
      assert.equal((await readError(response)).code, 'sign_up_closed')
      await server.assertNoOpenHolds()
    })
  })
})
