/**
 * The load and the comparison of the crash tests: streams and other requests run against an upstream that counts what it
 * sends, something is killed, and afterwards what clients received, what the upstream sent and what the relay charged
 * are compared.
 */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { parseAmount } from '../../src/lib/money.ts'
import { chatRequest, type Account, type RequestRecord } from '../support/server/account.ts'
import type { Script } from '../support/upstream/exchange.ts'
import type { TestServer } from '../support/server/test-server.ts'
import { paceEvents } from '../support/upstream/fault-injection.ts'
import { respondWith, numberedWords } from '../support/upstream/scripted-responses.ts'

/** In nanos per token. */
const price = { input: 2000n, output: 8000n }
export const prices: [string, string] = ['0.002', '0.008']
const inputTokens = 10
const markLead = 64

/** The relay's token estimate for these English words. */
function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4)
}

/** An upstream that responds to each call with its own number of words and counts what it sends. */
export class WordMeter {
  /** Words sent, by call name. */
  readonly sent = new Map<string, number>()

  readonly script: Script = (exchange) => {
    const name = callNameIn(exchange.request.text)
    const { deltas, paceMs } = planOf(name)
    const usage = { input: inputTokens, output: billedTokens(name) }
    const script = respondWith(numberedWords(deltas).join(''), usage, { deltas: numberedWords(deltas) })
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
    return paceEvents(counting, paceMs)(exchange)
  }
}

function callNameIn(text: string): string {
  return /call-\d+-\d+-\d+/.exec(text)?.[0] ?? ''
}

/** The length and speed of a response, derived from the call's name alone. */
function planOf(name: string): { deltas: number; paceMs: number } {
  const [, , deltas = 0, paceMs = 0] = name.split('-').map(Number)
  return { deltas, paceMs }
}

/** The provider's usage differs from the estimate, so that the two can be distinguished. */
function billedTokens(name: string): number {
  return planOf(name).deltas * 2 + 1
}

interface CallResult {
  readonly name: string
  readonly id: string
  /** The text that arrived. */
  readonly text: string
  /** The response ended normally. */
  readonly isComplete: boolean
}

/** What the clients of one load share. After the freeze they ignore everything that arrives. */
interface LoadContext {
  readonly account: Account
  readonly url: string
  isFrozen: boolean
}

/** Sends one request and reads until its end or until the connection breaks. */
function sendRequest(context: LoadContext, name: string, stream: boolean): Promise<CallResult> {
  const { account, url } = context
  const body = chatRequest('m', { stream, messages: [{ role: 'user', content: name }] })
  const headers = { authorization: `Bearer ${account.key.secret}`, 'content-type': 'application/json' }
  const { promise, resolve } = Promise.withResolvers<CallResult>()
  let id = ''
  let raw = ''
  const finish = (isEnded: boolean): void => {
    const text = Array.from(raw.matchAll(/"content":"( w\d+)"/g), ([, word]) => word).join('')
    const isComplete = stream ? raw.includes('[DONE]') : isEnded && raw.includes('"finish_reason":"stop"')
    resolve({ name, id, text, isComplete })
  }
  const outgoing = request(
    `${url}/v1/chat/completions`,
    { method: 'POST', headers, agent: false },
    (response) => {
      id = String(response.headers['x-request-id'])
      response.setEncoding('utf8')
      response.on('data', (part: string) => (raw += context.isFrozen ? '' : part))
      response.on('end', () => finish(response.complete && !context.isFrozen))
      response.on('error', () => finish(false))
    },
  )
  outgoing.on('error', () => finish(false))
  outgoing.end(JSON.stringify(body))
  return promise
}

/** Open streams, and clients that send one request after the other, until something ends them. */
export class CrashLoad {
  readonly #context: LoadContext
  readonly #results: Promise<CallResult>[] = []
  #number = 0
  #isStopped = false

  constructor(account: Account, url: string) {
    this.#context = { account, url, isFrozen: false }
  }

  /** Opens streams, each with a different length and speed. */
  stream(count: number): void {
    for (let index = 0; index < count; index += 1) {
      const name = `call-${this.#number++}-${20 + ((index * 37) % 150)}-${1 + (index % 9)}`
      this.#results.push(sendRequest(this.#context, name, true))
    }
  }

  /** Starts clients that send one request after the other, streaming and non-streaming in turn. */
  repeat(clients: number): void {
    for (let index = 0; index < clients; index += 1) void this.#repeat(index)
  }

  async #repeat(index: number): Promise<void> {
    for (let turn = index; !this.#isStopped; turn += 1) {
      const result = sendRequest(this.#context, `call-${this.#number++}-3-0`, turn % 2 === 0)
      this.#results.push(result)
      if (!(await result).isComplete) return
    }
  }

  /** From now on the clients ignore everything that arrives. */
  freeze(): void {
    this.#isStopped = true
    this.#context.isFrozen = true
  }

  /** Sends nothing more and returns all results. */
  async finish(): Promise<CallResult[]> {
    this.#isStopped = true
    return Promise.all(this.#results)
  }
}

async function listAllRecords(server: TestServer, account: Account): Promise<Map<string, RequestRecord>> {
  const records = new Map<string, RequestRecord>()
  for (let cursor: string | null = ''; cursor !== null;) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`
    const page: { data: RequestRecord[]; next: string | null } = await server.admin(
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

/** Compares what clients received, what the upstream sent and what was charged. `balance`: the initial balance. */
export async function compareCharges(
  server: TestServer,
  account: Account,
  results: readonly CallResult[],
  expected: { readonly meter: WordMeter; readonly balance: string },
): Promise<Comparison> {
  await server.assertNoOpenHolds()
  const records = await listAllRecords(server, account)
  let completed = 0
  let interrupted = 0
  for (const { name, id, text, isComplete } of results) {
    const record = records.get(id)
    if (isComplete) {
      completed += 1
      assert.ok(record, `${name} is complete but has no record`)
      assert.deepEqual([record.outcome, record.completion_tokens], ['ok', billedTokens(name)], name)
      continue
    }
    interrupted += 1
    const charged = record?.completion_tokens ?? 0
    // A settled request whose last event was lost in the crash is charged the provider's usage.
    if (record?.outcome === 'ok') {
      assert.equal(charged, billedTokens(name))
      continue
    }
    const delivered = estimateTokens(text)
    const received = estimateTokens(numberedWords(expected.meter.sent.get(name) ?? 0).join(''))
    assert.ok(charged >= delivered - markLead, `${name}: ${charged} charged of ${delivered} delivered`)
    assert.ok(charged <= received, `${name}: ${charged} charged of ${received} that the upstream sent`)
  }
  let cost = 0n
  for (const record of records.values()) {
    const { prompt_tokens: input, completion_tokens: output } = record
    assert.equal(parseAmount(record.cost), BigInt(input) * price.input + BigInt(output) * price.output)
    cost += parseAmount(record.cost)
  }
  assert.equal(
    parseAmount(await account.balance()),
    parseAmount(expected.balance) - cost,
    'the balance matches the records',
  )
  const { ok, drift, open_holds: open } = await server.verify()
  assert.deepEqual({ ok, drift, open }, { ok: true, drift: '0', open: 0 })
  return { completed, interrupted }
}
