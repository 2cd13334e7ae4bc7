/**
 * A crowd of callers who go on whatever happens to the relay, and note what each of them was told; and two upstreams
 * that keep a meter of their own. What both have noted is the history that history.ts proves.
 */
import { request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { question, type Account } from '../server/account.ts'
import type { Exchange, Script } from '../upstream/exchange.ts'
import { saying, words } from '../upstream/scripted-responses.ts'

const inputTokens = 10
/** A caller who was told to come again later does so after this. */
const politenessMs = 200
const answerWithinMs = 60_000

/** One call, as its caller has seen it. */
export interface Told {
  readonly name: string
  /** Empty: nothing has come back. */
  readonly id: string
  /** 0: nothing has come back. */
  readonly status: number
  /** It was told when to come again. */
  readonly mayReturn: boolean
  /** The words that arrived. */
  readonly text: string
  /** It came to its regular end. */
  readonly isWhole: boolean
  /** It ended with words about what went wrong. */
  readonly isExplained: boolean
}

/** What becomes of a call at the upstreams; told by its name alone. */
export interface Plan {
  readonly deltas: number
  readonly isStream: boolean
  /** The first upstream fails before it says anything. */
  readonly failsFirst: boolean
  /** Both break off half-way. */
  readonly isCut: boolean
}

const nameOf = (text: string): string => /call-\d+/.exec(text)?.[0] ?? 'call-0'

export function planOf(name: string, hasFaults: boolean): Plan {
  const number = Number(name.slice('call-'.length))
  const isStream = number % 2 === 0
  return {
    deltas: 2 + (number % 7),
    isStream,
    failsFirst: hasFaults && number % 20 === 7,
    isCut: hasFaults && isStream && number % 100 === 50,
  }
}

/** What the provider bills differs from the estimate, and from call to call. */
export function billOf(name: string): { input: number; output: number } {
  return { input: inputTokens, output: planOf(name, false).deltas * 2 + 1 + (Number(name.slice(5)) % 97) }
}

/** What the upstreams have sent. */
export class UpstreamMeter {
  /** Whole answers, by the call's name. */
  readonly answered = new Map<string, number>()
  /** The most words of one attempt, by the call's name. */
  readonly words = new Map<string, number>()
  readonly #hasFaults: boolean

  constructor(hasFaults: boolean) {
    this.#hasFaults = hasFaults
  }

  /** The upstream that is asked first. */
  readonly first: Script = async (exchange) => {
    const number = Number(nameOf(exchange.request.text).slice(5))
    if (!planOf(`call-${number}`, this.#hasFaults).failsFirst) return this.second(exchange)
    if (number % 3 === 0) return exchange.reset()
    exchange.head(number % 3 === 1 ? 500 : 429, { 'content-type': 'application/json' })
    return exchange.end()
  }

  readonly second: Script = async (exchange) => {
    const name = nameOf(exchange.request.text)
    const { deltas, isCut } = planOf(name, this.#hasFaults)
    let sent = 0
    const counting: Exchange = {
      ...exchange,
      event: async (payload, eventName) => {
        if (payload.includes('" w')) {
          if (isCut && sent === 1) return (exchange.reset(), false)
          sent += 1
          this.words.set(name, Math.max(sent, this.words.get(name) ?? 0))
        }
        return exchange.event.call(counting, payload, eventName)
      },
      end: async () => {
        if (!isCut) this.answered.set(name, (this.answered.get(name) ?? 0) + 1)
        await exchange.end()
      },
    }
    const text = words(deltas)
    await saying(text.join(''), billOf(name), { deltas: text })(counting)
  }
}

export class Crowd {
  readonly told: Told[] = []
  readonly #account: Account
  readonly #urlOf: (call: number) => string
  readonly #hasFaults: boolean
  #number = 0
  #isOver = false
  #callers: Promise<void>[] = []

  constructor(account: Account, urlOf: (call: number) => string, hasFaults = false) {
    this.#account = account
    this.#urlOf = urlOf
    this.#hasFaults = hasFaults
  }

  /** So many callers, each asking again as soon as it is answered, until `most` calls were made or `ended` is called. */
  come(callers: number, most = Infinity): void {
    for (let index = 0; index < callers; index += 1) this.#callers.push(this.#goOn(most))
  }

  async #goOn(most: number): Promise<void> {
    while (!this.#isOver && this.#number < most) {
      const number = this.#number++
      const told = await this.#call(`call-${number}`, this.#urlOf(number))
      this.told.push(told)
      if (told.status === 503 || told.status === 0) await delay(politenessMs)
    }
  }

  /** Resolves when as many calls were answered. */
  async reached(calls: number): Promise<void> {
    while (this.told.length < calls) await delay(20)
  }

  async ended(): Promise<readonly Told[]> {
    this.#isOver = true
    await Promise.all(this.#callers)
    return this.told
  }

  /** Resolves when all the calls that were to be made are answered. */
  async done(): Promise<readonly Told[]> {
    await Promise.all(this.#callers)
    return this.told
  }

  #call(name: string, url: string): Promise<Told> {
    const { isStream: stream } = planOf(name, this.#hasFaults)
    const body = question('m', { stream, messages: [{ role: 'user', content: name }] })
    const headers = {
      authorization: `Bearer ${this.#account.key.secret}`,
      'content-type': 'application/json',
      connection: 'close',
    }
    const { promise, resolve } = Promise.withResolvers<Told>()
    let status = 0
    let id = ''
    let mayReturn = false
    let raw = ''
    const over = (isEnded: boolean): void => {
      const text = Array.from(raw.matchAll(/"content":"( w\d+)"/g), ([, word]) => word).join('')
      const isWhole = stream ? raw.includes('[DONE]') : isEnded && raw.includes('"finish_reason":"stop"')
      const isExplained = isEnded && raw.includes('"error"')
      resolve({ name, id, status, mayReturn, text, isWhole, isExplained })
    }
    const asking = request(
      `${url}/v1/chat/completions`,
      { method: 'POST', headers, agent: false, timeout: answerWithinMs },
      (reply) => {
        status = reply.statusCode ?? 0
        id = String(reply.headers['x-request-id'] ?? '')
        mayReturn = reply.headers['retry-after'] !== undefined
        reply.setEncoding('utf8')
        reply.on('data', (part: string) => (raw += part))
        reply.on('end', () => over(reply.complete))
        reply.on('error', () => over(false))
      },
    )
    asking.on('timeout', () => asking.destroy())
    asking.on('error', () => over(false))
    asking.end(JSON.stringify(body))
    return promise
  }
}
