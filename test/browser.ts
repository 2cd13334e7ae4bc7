/**
 * Somebody at the console as a browser would be: keeps cookies, says where a call comes from, and holds every answer to
 * the shape that the contract promises. No page is loaded; those are the browser tests'.
 */
import assert from 'node:assert/strict'
import type { Call, AnswerOf, BodyOf, QueryOf } from '../src/http/console/contract/call.ts'
import { entranceCalls, type Session } from '../src/http/console/contract/entrance.ts'
import { eventually } from './support/client/responses.ts'

export interface Given<One extends Call = Call> {
  body?: BodyOf<One>
  query?: QueryOf<One>
  /** In the place of `:id`. */
  id?: string
  headers?: Record<string, string>
}

export interface Refused {
  status: number
  code: string
  param: string | null
  message: string
}

export class Browser {
  readonly url: string
  cookies = new Map<string, string>()

  constructor(url: string) {
    this.url = url
  }

  /** One call as it comes back; `path` below the relay's address. */
  async fetch(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const reply = await fetch(`${this.url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        origin: this.url,
        'sec-fetch-site': 'same-origin',
        ...(cookie === '' ? {} : { cookie }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    for (const line of reply.headers.getSetCookie()) this.#keep(line)
    return reply
  }

  #keep(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (value === '' || /max-age=0/i.test(line)) this.cookies.delete(name)
    else this.cookies.set(name, value)
  }

  send<One extends Call>(call: One, given: Given<One> = {}): Promise<Response> {
    const query = new URLSearchParams(given.query ?? {}).toString()
    const path = call.path.replace(/:\w+/, encodeURIComponent(given.id ?? 'x'))
    const body = call.method === 'GET' ? undefined : (given.body ?? {})
    return this.fetch(
      call.method,
      `/api/console${path}${query === '' ? '' : `?${query}`}`,
      body,
      given.headers,
    )
  }

  /** A call that has to succeed, with an answer of the promised shape and nothing beyond it. */
  async ask<One extends Call>(call: One, given: Given<One> = {}): Promise<AnswerOf<One>> {
    const reply = await this.send(call, given)
    const text = await reply.text()
    assert.ok(reply.ok, `${call.method} ${call.path} → ${reply.status}: ${text}`)
    const answer: unknown = JSON.parse(text)
    const shaped = call.answer.parse(answer) as AnswerOf<One>
    assert.deepEqual(answer, shaped, `${call.path} answers more than the contract says`)
    return shaped
  }

  /** A call that has to be refused: how. */
  async refused<One extends Call>(call: One, given: Given<One> = {}): Promise<Refused> {
    return refusalIn(await this.send(call, given))
  }

  session(): Promise<Session> {
    return this.ask(entranceCalls.session)
  }

  /** Signs in with a password alone. */
  async signIn(email: string, password: string): Promise<void> {
    const answer = await this.ask(entranceCalls.signIn, { body: { email, password } })
    assert.equal(answer.status, 'signed_in')
  }

  /** One call of the automation contract with the session. */
  async admin<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const reply = await this.fetch(method, `/api/admin${path}`, body)
    const text = await reply.text()
    assert.ok(reply.ok, `${method} ${path} → ${reply.status}: ${text}`)
    return JSON.parse(text) as Answer
  }
}

export async function refusalIn(reply: Response): Promise<Refused> {
  const body = (await reply.json()) as { error?: { code: string; message: string; param: string | null } }
  assert.ok(body.error, `not refused: ${JSON.stringify(body).slice(0, 200)}`)
  const { code, message, param } = body.error
  return { status: reply.status, code, message, param }
}

export const goodPassword = 'a quiet harbour at noon'

/** The token of the link that the start prints, a moment after it is ready. */
export function printedToken(house: { readonly log: readonly string[] }): Promise<string> {
  return eventually('a link is printed', async () => {
    const link = house.log.findLast((line) => line.includes('/set-up#'))
    return link?.slice(link.indexOf('#') + 1).trim()
  })
}

/** Becomes the operator that the start has printed a link for. */
export async function operatorOf(
  house: { readonly url: string; readonly log: string[] },
  email = 'boss@example.com',
): Promise<Browser> {
  const browser = new Browser(house.url)
  const body = { token: await printedToken(house), email, password: goodPassword }
  await browser.ask(entranceCalls.setUp, { body })
  return browser
}

/** Signs up where no mail is sent. */
export async function customerOf(house: { url: string }, email: string): Promise<Browser> {
  const browser = new Browser(house.url)
  await browser.ask(entranceCalls.signUp, { body: { email, password: goodPassword } })
  return browser
}
