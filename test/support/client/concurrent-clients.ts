/**
 * Concurrent clients that keep sending requests whatever happens to the relay and record every response, and two
 * upstreams that count what they send. test/long/verify-history.ts compares both records with the relay's charges.
 */
import { request } from 'node:http'
import { chatRequest, type Account } from '../server/account.ts'
import type { Exchange, Script } from '../upstream/exchange.ts'
import { respondWith, numberedWords } from '../upstream/scripted-responses.ts'
import { scriptedDelay, waitUntil } from '../wait.ts'

const inputTokens = 10
/** How long a client waits after a 503 or a lost connection. */
const retryDelayMs = 200
const responseTimeoutMs = 60_000
/** Enough for an outage in between. */
const callsTimeoutMs = 300_000

/** One call as its client saw it. */
export interface ObservedCall {
  readonly name: string
  /** Empty if no response arrived. */
  readonly id: string
  /** 0 if no response arrived. */
  readonly status: number
  /** The response has a Retry-After header. */
  readonly hasRetryAfter: boolean
  /** The text that arrived. */
  readonly text: string
  /** The response ended normally. */
  readonly isComplete: boolean
  /** The response ended with an error object. */
  readonly hasError: boolean
}

/** What the upstreams do with a call; derived from its name alone. */
export interface CallPlan {
  readonly deltas: number
  readonly isStream: boolean
  /** The first upstream fails before its first content. */
  readonly failsFirst: boolean
  /** Both upstreams truncate the stream. */
  readonly isTruncated: boolean
}

const callNameIn = (text: string): string => /call-\d+/.exec(text)?.[0] ?? 'call-0'

export function planOf(name: string, hasFaults: boolean): CallPlan {
  const number = Number(name.slice('call-'.length))
  const isStream = number % 2 === 0
  return {
    deltas: 2 + (number % 7),
    isStream,
    failsFirst: hasFaults && number % 20 === 7,
    isTruncated: hasFaults && isStream && number % 100 === 50,
  }
}

/** The provider's usage: different from the estimate, and different for each call. */
export function billedUsage(name: string): { input: number; output: number } {
  return { input: inputTokens, output: planOf(name, false).deltas * 2 + 1 + (Number(name.slice(5)) % 97) }
}

/** Counts what the upstreams send. */
export class UpstreamMeter {
  /** Complete responses, by call name. */
  readonly completed = new Map<string, number>()
  /** The most words sent in one attempt, by call name. */
  readonly words = new Map<string, number>()
  readonly #hasFaults: boolean

  constructor(hasFaults: boolean) {
    this.#hasFaults = hasFaults
  }

  /** The upstream with the higher priority. */
  readonly first: Script = async (exchange) => {
    const number = Number(callNameIn(exchange.request.text).slice(5))
    if (!planOf(`call-${number}`, this.#hasFaults).failsFirst) return this.second(exchange)
    if (number % 3 === 0) return exchange.reset()
    exchange.head(number % 3 === 1 ? 500 : 429, { 'content-type': 'application/json' })
    return exchange.end()
  }

  readonly second: Script = async (exchange) => {
    const name = callNameIn(exchange.request.text)
    const { deltas, isTruncated } = planOf(name, this.#hasFaults)
    let sent = 0
    const counting: Exchange = {
      ...exchange,
      event: async (payload, eventName) => {
        if (payload.includes('" w')) {
          if (isTruncated && sent === 1) return (exchange.reset(), false)
          sent += 1
          this.words.set(name, Math.max(sent, this.words.get(name) ?? 0))
        }
        return exchange.event.call(counting, payload, eventName)
      },
      end: async () => {
        if (!isTruncated) this.completed.set(name, (this.completed.get(name) ?? 0) + 1)
        await exchange.end()
      },
    }
    const text = numberedWords(deltas)
    await respondWith(text.join(''), billedUsage(name), { deltas: text })(counting)
  }
}

export class ConcurrentClients {
  readonly calls: ObservedCall[] = []
  readonly #account: Account
  readonly #urlOf: (call: number) => string
  readonly #hasFaults: boolean
  #number = 0
  #isStopped = false
  #running: Promise<void>[] = []

  constructor(account: Account, urlOf: (call: number) => string, hasFaults = false) {
    this.#account = account
    this.#urlOf = urlOf
    this.#hasFaults = hasFaults
  }

  /**
   * Starts `clients` clients. Each sends its next request `pauseMs` after the last is answered, up to `maxCalls` in all.
   * With pauses, they start one after the other, so that their requests are spread.
   */
  start(clients: number, maxCalls = Infinity, pauseMs = 0): void {
    for (let index = 0; index < clients; index += 1)
      this.#running.push(this.#callRepeatedly(maxCalls, pauseMs, (pauseMs * index) / clients))
  }

  async #callRepeatedly(maxCalls: number, pauseMs: number, startMs: number): Promise<void> {
    if (startMs > 0) await scriptedDelay(startMs)
    while (!this.#isStopped && this.#number < maxCalls) {
      const number = this.#number++
      const calls = await this.#call(`call-${number}`, this.#urlOf(number))
      this.calls.push(calls)
      const waitMs = calls.status === 503 || calls.status === 0 ? retryDelayMs : pauseMs
      if (waitMs > 0) await scriptedDelay(waitMs)
    }
  }

  /** Resolves when this many calls are answered. */
  async waitForCalls(calls: number): Promise<void> {
    await waitUntil(() => this.calls.length >= calls, `${calls} calls`, callsTimeoutMs)
  }

  async stop(): Promise<readonly ObservedCall[]> {
    this.#isStopped = true
    await Promise.all(this.#running)
    return this.calls
  }

  /** Resolves when all `maxCalls` calls are answered. */
  async waitForAll(): Promise<readonly ObservedCall[]> {
    await Promise.all(this.#running)
    return this.calls
  }

  #call(name: string, url: string): Promise<ObservedCall> {
    const { isStream: stream } = planOf(name, this.#hasFaults)
    const body = chatRequest('m', { stream, messages: [{ role: 'user', content: name }] })
    const headers = {
      authorization: `Bearer ${this.#account.key.secret}`,
      'content-type': 'application/json',
      connection: 'close',
    }
    const { promise, resolve } = Promise.withResolvers<ObservedCall>()
    let status = 0
    let id = ''
    let hasRetryAfter = false
    let raw = ''
    const finish = (isEnded: boolean): void => {
      const text = Array.from(raw.matchAll(/"content":"( w\d+)"/g), ([, word]) => word).join('')
      const isComplete = stream ? raw.includes('[DONE]') : isEnded && raw.includes('"finish_reason":"stop"')
      // A stream is cut after its error event.
      const mustBeCut = stream && status === 200
      const hasError = isEnded !== mustBeCut && raw.includes('"error"')
      resolve({
        name,
        id,
        status,
        hasRetryAfter,
        text,
        isComplete,
        hasError,
      })
    }
    const outgoing = request(
      `${url}/v1/chat/completions`,
      { method: 'POST', headers, agent: false, timeout: responseTimeoutMs },
      (response) => {
        status = response.statusCode ?? 0
        id = String(response.headers['x-request-id'] ?? '')
        hasRetryAfter = response.headers['retry-after'] !== undefined
        response.setEncoding('utf8')
        response.on('data', (part: string) => (raw += part))
        response.on('end', () => finish(response.complete))
        response.on('error', () => finish(false))
      },
    )
    outgoing.on('timeout', () => outgoing.destroy())
    outgoing.on('error', () => finish(false))
    outgoing.end(JSON.stringify(body))
    return promise
  }
}
