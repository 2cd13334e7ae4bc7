/**
 * The crash harness: streams and whole requests run against an upstream that keeps its own meter, something dies, and
 * afterwards three witnesses are compared: what callers got, what the upstream sent, what the relay has charged.
 */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { nanosOf } from '../../src/lib/money.ts'
import { question, type Account, type RequestRecord } from '../support/server/account.ts'
import type { Script } from '../support/upstream/exchange.ts'
import type { House } from '../support/server/test-server.ts'
import { slow } from '../support/upstream/fault-injection.ts'
import { saying, words } from '../support/upstream/scripted-responses.ts'

/** In nanos per token. */
const price = { input: 2000n, output: 8000n }
export const prices: [string, string] = ['0.002', '0.008']
const inputTokens = 10
const markLead = 64

/** Tokens by the estimate rule, of these English words. */
function estimateOf(text: string): number {
  return Math.ceil(text.length / 4)
}

/** An upstream that answers each call with its own number of words, and counts what it has sent. */
export class Meter {
  /** Words sent, by the call's name. */
  readonly sent = new Map<string, number>()

  readonly script: Script = (exchange) => {
    const name = nameIn(exchange.request.text)
    const { deltas, paceMs } = planOf(name)
    const usage = { input: inputTokens, output: billedFor(name) }
    const script = saying(words(deltas).join(''), usage, { deltas: words(deltas) })
    if (exchange.request.json['stream'] !== true) return script(exchange)
    const { sent } = this
    const counting: Script = (inner) =>
      script({
        ...inner,
        event(payload, eventName) {
          if (payload.includes('" w')) sent.set(name, (sent.get(name) ?? 0) + 1)
          return inner.event.call(this, payload, eventName)
        },
      })
    return slow(counting, paceMs)(exchange)
  }
}

function nameIn(text: string): string {
  return /call-\d+-\d+-\d+/.exec(text)?.[0] ?? ''
}

/** How long an answer is and how slowly it comes, told by the call's name alone. */
function planOf(name: string): { deltas: number; paceMs: number } {
  const [, , deltas = 0, paceMs = 0] = name.split('-').map(Number)
  return { deltas, paceMs }
}

/** What the provider bills differs from the estimate, so that the two are told apart. */
function billedFor(name: string): number {
  return planOf(name).deltas * 2 + 1
}

interface Followed {
  readonly name: string
  readonly id: string
  /** The words that arrived. */
  readonly text: string
  /** It came to its regular end. */
  readonly isComplete: boolean
}

/** Callers of one load: what comes after the freeze, nobody has seen. */
interface Callers {
  readonly account: Account
  readonly url: string
  isFrozen: boolean
}

/** One call, read until its end or until the connection breaks. */
function follow(callers: Callers, name: string, stream: boolean): Promise<Followed> {
  const { account, url } = callers
  const body = question('m', { stream, messages: [{ role: 'user', content: name }] })
  const headers = { authorization: `Bearer ${account.key.secret}`, 'content-type': 'application/json' }
  const { promise, resolve } = Promise.withResolvers<Followed>()
  let id = ''
  let raw = ''
  const over = (isEnded: boolean): void => {
    const text = Array.from(raw.matchAll(/"content":"( w\d+)"/g), ([, word]) => word).join('')
    const isComplete = stream ? raw.includes('[DONE]') : isEnded && raw.includes('"finish_reason":"stop"')
    resolve({ name, id, text, isComplete })
  }
  const asking = request(`${url}/v1/chat/completions`, { method: 'POST', headers, agent: false }, (reply) => {
    id = String(reply.headers['x-request-id'])
    reply.setEncoding('utf8')
    reply.on('data', (part: string) => (raw += callers.isFrozen ? '' : part))
    reply.on('end', () => over(reply.complete && !callers.isFrozen))
    reply.on('error', () => over(false))
  })
  asking.on('error', () => over(false))
  asking.end(JSON.stringify(body))
  return promise
}

/** Streams that are open and whole requests that come one after the other, until something ends them. */
export class Load {
  readonly #callers: Callers
  readonly #followed: Promise<Followed>[] = []
  #number = 0
  #isOver = false

  constructor(account: Account, url: string) {
    this.#callers = { account, url, isFrozen: false }
  }

  /** Opens so many streams, each of another length and pace. */
  stream(count: number): void {
    for (let index = 0; index < count; index += 1) {
      const name = `call-${this.#number++}-${20 + ((index * 37) % 150)}-${1 + (index % 9)}`
      this.#followed.push(follow(this.#callers, name, true))
    }
  }

  /** So many callers, each asking again as soon as it is answered, streamed and whole by turns. */
  repeat(callers: number): void {
    for (let index = 0; index < callers; index += 1) void this.#repeat(index)
  }

  async #repeat(index: number): Promise<void> {
    for (let turn = index; !this.#isOver; turn += 1) {
      const following = follow(this.#callers, `call-${this.#number++}-3-0`, turn % 2 === 0)
      this.#followed.push(following)
      if (!(await following).isComplete) return
    }
  }

  /** From this moment on nobody sees anything any more. */
  freeze(): void {
    this.#isOver = true
    this.#callers.isFrozen = true
  }

  /** Nothing more is asked; what came of everything. */
  async ended(): Promise<Followed[]> {
    this.#isOver = true
    return Promise.all(this.#followed)
  }
}

async function allRecords(house: House, account: Account): Promise<Map<string, RequestRecord>> {
  const records = new Map<string, RequestRecord>()
  for (let cursor: string | null = ''; cursor !== null;) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`
    const page: { data: RequestRecord[]; next: string | null } = await house.admin(
      'GET',
      `/requests?account=${account.id}&limit=100${query}`,
    )
    for (const record of page.data) {
      assert.ok(!records.has(record.request_id), `${record.request_id} has two records`)
      records.set(record.request_id, record)
    }
    cursor = page.next
  }
  return records
}

export interface Comparison {
  readonly completed: number
  readonly interrupted: number
}

/** Compares what callers got, what the upstream sent and what was charged. `balance`: what the account began with. */
export async function compare(
  house: House,
  account: Account,
  followed: readonly Followed[],
  about: { readonly meter: Meter; readonly balance: string },
): Promise<Comparison> {
  await house.nothingHeld()
  const records = await allRecords(house, account)
  let completed = 0
  let interrupted = 0
  for (const { name, id, text, isComplete } of followed) {
    const record = records.get(id)
    if (isComplete) {
      completed += 1
      assert.ok(record, `${name} was completed and has no record`)
      assert.deepEqual([record.outcome, record.completion_tokens], ['ok', billedFor(name)], name)
      continue
    }
    interrupted += 1
    const charged = record?.completion_tokens ?? 0
    // What was complete and settled, but whose last event the crash swallowed, is charged as its provider says.
    if (record?.outcome === 'ok') {
      assert.equal(charged, billedFor(name))
      continue
    }
    const delivered = estimateOf(text)
    const received = estimateOf(words(about.meter.sent.get(name) ?? 0).join(''))
    assert.ok(charged >= delivered - markLead, `${name}: ${charged} charged of ${delivered} delivered`)
    assert.ok(charged <= received, `${name}: ${charged} charged of ${received} that the upstream sent`)
  }
  let cost = 0n
  for (const record of records.values()) {
    const { prompt_tokens: input, completion_tokens: output } = record
    assert.equal(nanosOf(record.cost), BigInt(input) * price.input + BigInt(output) * price.output)
    cost += nanosOf(record.cost)
  }
  assert.equal(
    nanosOf(await account.balance()),
    nanosOf(about.balance) - cost,
    'the balance is what the records leave',
  )
  const { ok, drift, open_holds: open } = await house.verify()
  assert.deepEqual({ ok, drift, open }, { ok: true, drift: '0', open: 0 })
  return { completed, interrupted }
}
