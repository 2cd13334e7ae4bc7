// @backend both (cluster in long runs)
/**
 * Every endpoint with every kind of caller, and every call that a session authorizes with every form of cross-site
 * request. The endpoints are those that the code declares: the OpenAPI document and the console's router.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { generateSecret } from '../../../src/accounts/key-secret.ts'
import type { Audience as DeclaredAudience } from '../../../src/http/api/endpoint.ts'
import { consolePath, createConsoleApp } from '../../../src/http/console/app.ts'
import { endpoints } from '../../../src/http/console/endpoints.ts'
import type { ConsoleDeps } from '../../../src/http/console/context.ts'
import { playgroundPath } from '../../../src/http/console/account/playground.ts'
import { impersonationEndpoints } from '../../../src/http/console/auth/impersonation.ts'
import { signInEndpoints } from '../../../src/http/console/auth/sign-in.ts'
import {
  ConsoleSession,
  setUpOperator,
  signUpCustomer,
  validPassword,
} from '../../support/console/console-session.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'

type Audience = DeclaredAudience | 'API keys' | 'administrators'

interface Endpoint {
  readonly method: string
  readonly path: string
  readonly audience: Audience
}

type Headers = Readonly<Record<string, string>>

/** The errors that reject a caller. Any other response means that the caller was let in. */
const rejections: ReadonlySet<string> = new Set([
  'invalid_api_key',
  'authentication_error',
  'session_required',
  'operators_only',
  'no_account',
  'permission_denied',
  'cross_site',
])

const server = await sharedTestServer()
const account = await server.account()
const customer = await signUpCustomer(server, 'customer@example.com')
const operator = await setUpOperator(server, 'boss@example.com')
const impersonating = new ConsoleSession(server.url)
await impersonating.signIn('boss@example.com', validPassword)
await impersonating.call(impersonationEndpoints.start, { id: (await customer.session()).account?.id ?? '' })

const cookiesOf = ({ cookies }: ConsoleSession, value?: string): Headers => ({
  cookie: Array.from(cookies, ([name, own]) => `${name}=${value ?? own}`).join('; '),
})
const bearer = (secret: string): Headers => ({ authorization: `Bearer ${secret}` })

const callers = {
  nobody: {},
  'unknown API key': bearer(generateSecret()),
  'API key': bearer(account.key.secret),
  'admin key': bearer(server.relay.adminKey),
  'unknown session': cookiesOf(customer, 'x'.repeat(43)),
  customer: cookiesOf(customer),
  operator: cookiesOf(operator),
  'impersonating operator': cookiesOf(impersonating),
} as const satisfies Record<string, Headers>
type Caller = keyof typeof callers
const callerNames = Object.keys(callers) as Caller[]

/** The endpoints of the console, with `x` in place of each id. The deps are only used by handlers. */
function consoleEndpoints(): Endpoint[] {
  const audiences = new Map(
    endpoints.map(({ method, path, audience }) => [
      `${method.toUpperCase()} ${consolePath}${path.replaceAll(/\{\w+\}/g, 'x')}`,
      audience,
    ]),
  )
  const { routes } = createConsoleApp({} as ConsoleDeps)
  const declared = routes.filter(({ method }) => method !== 'ALL')
  const called = declared.map(({ method, path: pattern }) => {
    const path = pattern.replaceAll(/:\w+/g, 'x')
    return { method, path, audience: audiences.get(`${method} ${path}`) ?? 'customer' }
  })
  return [...called, { method: 'POST', path: playgroundPath, audience: 'customer' }]
}

interface Operation {
  readonly security?: readonly Record<string, unknown>[]
}

/** All other endpoints, with `x` in place of each id. */
async function documentedEndpoints(): Promise<Endpoint[]> {
  const response = await fetch(`${server.url}/openapi.json`)
  const document = (await response.json()) as { paths: Record<string, Record<string, Operation>> }
  const audienceOf = ({ security }: Operation): Audience => {
    if (security?.length === 0) return 'anyone'
    return security?.some((scheme) => 'key' in scheme || 'messagesKey' in scheme) === true
      ? 'API keys'
      : 'administrators'
  }
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, 'x'),
      audience: audienceOf(operation),
    })),
  )
}

const isWrite = ({ method }: Endpoint): boolean => method !== 'GET'
const ownOrigin: Headers = { origin: server.url, 'sec-fetch-site': 'same-origin' }

/** Calls an endpoint and returns the rejection, or `accepted`. A body that is not JSON keeps calls from having effects. */
async function call(endpoint: Endpoint, headers: Headers): Promise<string> {
  const body = isWrite(endpoint) ? '{' : null
  const type: Headers = body === null ? {} : { 'content-type': 'application/json' }
  const response = await fetch(`${server.url}${endpoint.path}`, {
    method: endpoint.method,
    redirect: 'manual',
    headers: { ...type, ...headers },
    body,
  })
  const text = await response.text()
  const code = /"code":"(\w+)"/.exec(text)?.[1] ?? /"error":\{"type":"(\w+)"/.exec(text)?.[1] ?? ''
  if (response.status < 400 || !rejections.has(code)) return 'accepted'
  return code === 'authentication_error' ? 'invalid_api_key' : code
}

const endingPaths = [impersonationEndpoints.stop.path, signInEndpoints.signOut.path]
const administrators: readonly Caller[] = ['admin key', 'operator', 'impersonating operator']

function expectedResult(endpoint: Endpoint, caller: Caller): string {
  const { path, audience } = endpoint
  if (audience === 'API keys') return caller === 'API key' ? 'accepted' : 'invalid_api_key'
  if (audience === 'administrators') return administrators.includes(caller) ? 'accepted' : 'invalid_api_key'
  const isEnding = endingPaths.includes(path.slice(consolePath.length))
  if (caller === 'impersonating operator' && isWrite(endpoint) && !isEnding) return 'permission_denied'
  if (audience === 'anyone' || caller === 'impersonating operator') return 'accepted'
  if (caller === 'customer') return audience === 'operator' ? 'operators_only' : 'accepted'
  if (caller === 'operator') return audience === 'customer' ? 'no_account' : 'accepted'
  return 'session_required'
}

/** What a browser may send with a request that another site has caused. */
const crossSiteForms: readonly Headers[] = [
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: `${server.url}.evil.example` },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site', origin: server.url },
  { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
]
/** Browsers send neither header only with navigations, which read. */
const crossSiteWriteForms: readonly Headers[] = [...crossSiteForms, {}, { 'sec-fetch-site': 'none' }]

describe('Authorization matrix', () => {
  test('Every endpoint – accepts the callers it is for, and rejects all others', async () => {
    const all = [...consoleEndpoints(), ...(await documentedEndpoints())]
    assert.ok(all.length > 150, `${all.length} endpoints`)
    for (const endpoint of all) {
      const results = await Promise.all(
        callerNames.map((caller) => call(endpoint, { ...ownOrigin, ...callers[caller] })),
      )
      assert.deepEqual(
        Object.fromEntries(callerNames.map((caller, index) => [caller, results[index]])),
        Object.fromEntries(callerNames.map((caller) => [caller, expectedResult(endpoint, caller)])),
        `${endpoint.method} ${endpoint.path}`,
      )
    }
    for (const session of [customer, operator, impersonating])
      assert.notEqual((await session.session()).person, null)
  })

  test('Cross-site requests – are rejected wherever a session is accepted', async () => {
    const documented = await documentedEndpoints()
    const all = [...consoleEndpoints(), ...documented.filter(({ audience }) => audience === 'administrators')]
    for (const endpoint of all) {
      const isForCustomers = endpoint.audience === 'customer' || endpoint.audience === 'person'
      const session = callers[isForCustomers ? 'customer' : 'operator']
      const forms = isWrite(endpoint) ? crossSiteWriteForms : crossSiteForms
      const results = await Promise.all(forms.map((form) => call(endpoint, { ...session, ...form })))
      for (const [index, result] of results.entries())
        assert.equal(
          result,
          'cross_site',
          `${endpoint.method} ${endpoint.path} ${JSON.stringify(forms[index])}`,
        )
    }
  })
})
