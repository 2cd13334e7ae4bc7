/**
 * A session of the console API without a browser: it stores cookies, sends the headers that a browser sends, and checks
 * every response against the schema of its endpoint. The browser tests load the pages.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { z } from 'zod'
import type { Session } from '../../../src/http/console/auth/serialize-session.ts'
import { signInEndpoints } from '../../../src/http/console/auth/sign-in.ts'
import { signUpEndpoints } from '../../../src/http/console/auth/sign-up.ts'
import type { Endpoint } from '../../../src/http/api/endpoint.ts'
import { setupLinkFileName } from '../../../src/process/setup-link-file.ts'

type ResponseOf<One> = One extends Endpoint<never, infer Response> ? z.output<Response> : never
/** As the client sends it: fields with defaults are optional. */
type BodyOf<One> = One extends Endpoint<never, z.ZodType, infer Body> ? z.input<Body> : never
type QueryOf<One> = One extends Endpoint<never, z.ZodType, z.ZodType, infer Query> ? z.input<Query> : never

export interface CallOptions<One extends Endpoint = Endpoint> {
  body?: BodyOf<One>
  query?: QueryOf<One>
  /** Replaces `{id}` in the path. */
  id?: string
  headers?: Record<string, string>
}

export interface ReceivedError {
  status: number
  code: string
  param: string | null
  message: string
}

export class ConsoleSession {
  readonly url: string
  /** The origin of its pages: the public URL of a relay behind a proxy. */
  readonly #origin: string
  cookies = new Map<string, string>()

  constructor(url: string, origin: string = url) {
    this.url = url
    this.#origin = origin
  }

  /** One call by its path; returns the raw response. */
  async fetch(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(`${this.url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        origin: this.#origin,
        'sec-fetch-site': 'same-origin',
        ...(cookie === '' ? {} : { cookie }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    for (const line of response.headers.getSetCookie()) this.#storeCookie(line)
    return response
  }

  #storeCookie(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (value === '' || /max-age=0/i.test(line)) this.cookies.delete(name)
    else this.cookies.set(name, value)
  }

  send<One extends Endpoint>(call: One, options: CallOptions<One> = {}): Promise<Response> {
    const query = new URLSearchParams(options.query ?? {}).toString()
    const path = call.path.replace(/\{\w+\}/, encodeURIComponent(options.id ?? 'x'))
    const body = call.method === 'get' ? undefined : (options.body ?? {})
    return this.fetch(
      call.method.toUpperCase(),
      `/api/console${path}${query === '' ? '' : `?${query}`}`,
      body,
      options.headers,
    )
  }

  /** A call that must succeed, with exactly the fields of the endpoint's schema. */
  async call<One extends Endpoint>(call: One, options: CallOptions<One> = {}): Promise<ResponseOf<One>> {
    const response = await this.send(call, options)
    const text = await response.text()
    assert.ok(response.ok, `${call.method} ${call.path} → ${response.status}: ${text}`)
    const body: unknown = JSON.parse(text)
    const parsed = call.response.parse(body) as ResponseOf<One>
    assert.deepEqual(body, parsed, `${call.path} returns fields that its schema does not have`)
    return parsed
  }

  /** A call that must fail; returns its error. */
  async expectError<One extends Endpoint>(call: One, options: CallOptions<One> = {}): Promise<ReceivedError> {
    return readError(await this.send(call, options))
  }

  session(): Promise<Session> {
    return this.call(signInEndpoints.session)
  }

  /** Signs in with a password only. */
  async signIn(email: string, password: string): Promise<void> {
    const result = await this.call(signInEndpoints.signIn, { body: { email, password } })
    assert.equal(result.status, 'signed_in')
  }

  /** One admin API call with the session. */
  async admin<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await this.fetch(method, `/api/admin${path}`, body)
    const text = await response.text()
    assert.ok(response.ok, `${method} ${path} → ${response.status}: ${text}`)
    return JSON.parse(text) as Answer
  }
}

export async function readError(response: Response): Promise<ReceivedError> {
  const body = (await response.json()) as { error?: { code: string; message: string; param: string | null } }
  assert.ok(body.error, `no error in the response: ${JSON.stringify(body).slice(0, 200)}`)
  const { code, message, param } = body.error
  return { status: response.status, code, message, param }
}

export const validPassword = 'a quiet harbour at noon'

/** The token of the set-up link, which a start without a terminal writes to a file. */
export function readSetUpToken({ dataDir }: { readonly dataDir: string }): string {
  const link = readFileSync(join(dataDir, setupLinkFileName), 'utf8').trim()
  return link.slice(link.indexOf('#') + 1)
}

/** The status of an attempt to create an operator with the token of a set-up link. */
export async function redeemSetUpLink(
  { url }: { url: string },
  token: string,
  email: string,
): Promise<number> {
  const body = { token, email, password: validPassword }
  const response = await new ConsoleSession(url).send(signUpEndpoints.setUp, { body })
  await response.body?.cancel()
  return response.status
}

/** Creates the first operator with the set-up link. */
export async function setUpOperator(
  server: { readonly url: string; readonly dataDir: string },
  email = 'boss@example.com',
): Promise<ConsoleSession> {
  const session = new ConsoleSession(server.url)
  const body = { token: readSetUpToken(server), email, password: validPassword }
  await session.call(signUpEndpoints.setUp, { body })
  return session
}

/** Signs up a customer on a relay that sends no e-mail. */
export async function signUpCustomer(server: { url: string }, email: string): Promise<ConsoleSession> {
  const session = new ConsoleSession(server.url)
  await session.call(signUpEndpoints.signUp, { body: { email, password: validPassword } })
  return session
}
