/**
 * State that all nodes share and that may be lost: the windows and slots of rates, in Redis or Valkey. Nothing here
 * knows what is limited or why, and nothing of it is money.
 */
import { Redis } from 'ioredis'
import { endScript, renewScript, reserveScript } from './sliding-window-scripts.ts'
import { errorWords } from '../lib/error-message.ts'

/** Who is limited, by what; `null`: unlimited. `group`: subjects that are asked for together lie together. */
export interface WindowClaim {
  readonly subject: string
  readonly requests: number | null
  readonly tokens: number | null
  readonly slots: number | null
}

export interface WindowUse {
  readonly requests: number
  readonly tokens: number
  readonly running: number
  /** Seconds until one more request, and the tokens asked for, fit; -1: never. */
  readonly requestsWait: number
  readonly tokensWait: number
  /** Seconds until all is free again. */
  readonly requestsFree: number
  readonly tokensFree: number
}

export interface Reservation {
  readonly isAdmitted: boolean
  /** Redis's clock, in milliseconds. */
  readonly now: number
  readonly uses: readonly WindowUse[]
}

export interface RedisWindowsOptions {
  readonly url: string
  /** A slot whose request is not heard of for so long is free. */
  readonly leaseMs: number
  readonly onReady: () => void
  /** At each attempt that fails; `why` holds no secrets. */
  readonly onAway: (why: string) => void
  /** Added to Redis's clock; for tests, which cannot wait a minute. */
  readonly aheadMs?: () => number
}

const commandMs = 500
/** A Redis that says nothing for so long is away: what would be sent to it meanwhile must not gather here. */
const silentMs = 2000
const reconnectMostMs = 1000
/** A connection on which so many answers were late is given up for another: what waits on it would only grow. */
const lateMost = 1000
const lateWhy = 'Command timed out'
const valuesPerClaim = 7

interface Scripts {
  reserveWindows(keys: number, ...words: (string | number)[]): Promise<number[]>
  endWindows(keys: number, ...words: (string | number)[]): Promise<number>
  renewWindows(keys: number, ...words: (string | number)[]): Promise<number>
}

function open(url: string): Redis & Scripts {
  const redis = new Redis(url, {
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    commandTimeout: commandMs,
    connectTimeout: 2000,
    socketTimeout: silentMs,
    retryStrategy: (tries) => Math.min(tries * 100, reconnectMostMs),
    // It has become a replica: its name may lead to another one by now.
    reconnectOnError: ({ message }) => message.includes('READONLY'),
    scripts: {
      reserveWindows: { lua: reserveScript },
      endWindows: { lua: endScript },
      renewWindows: { lua: renewScript },
    },
  })
  return redis as Redis & Scripts
}

export class RedisWindows {
  readonly #redis: Redis & Scripts
  readonly #leaseMs: number
  readonly #aheadMs: () => number
  #late = 0

  constructor({ url, leaseMs, onReady, onAway, aheadMs = () => 0 }: RedisWindowsOptions) {
    this.#leaseMs = leaseMs
    this.#aheadMs = aheadMs
    this.#redis = open(url)
    this.#redis.on('ready', () => {
      this.#late = 0
      onReady()
    })
    let why = 'the connection was closed'
    this.#redis.on('error', (error: Error) => (why = errorWords(error)))
    this.#redis.on('close', () => onAway(why))
  }

  async #answerTo<Answer>(said: Promise<Answer>): Promise<Answer> {
    try {
      return await said
    } catch (error) {
      if (errorWords(error) !== lateWhy) throw error
      this.#late += 1
      if (this.#late === lateMost) this.#redis.disconnect(true)
      throw error
    }
  }

  /** Keys of one group lie in one slot of a Redis cluster. */
  #keys(group: string, subjects: readonly string[]): string[] {
    return subjects.flatMap((subject) => [`sluice:{${group}}:w:${subject}`, `sluice:{${group}}:c:${subject}`])
  }

  /** Reserves all or nothing; `isForced`: counts also what does not fit. Rejects when Redis does not answer. */
  async reserve(
    asked: {
      readonly id: string
      readonly group: string
      readonly tokens: number
      readonly isForced?: boolean
    },
    claims: readonly WindowClaim[],
  ): Promise<Reservation> {
    const keys = this.#keys(
      asked.group,
      claims.map(({ subject }) => subject),
    )
    const limits = claims.flatMap(({ requests, tokens, slots }) => [
      requests ?? -1,
      tokens ?? -1,
      slots ?? -1,
    ])
    const about = [this.#aheadMs(), asked.id, asked.tokens, this.#leaseMs, asked.isForced === true ? 1 : 0]
    const [admitted = 0, now = 0, ...values] = await this.#answerTo(
      this.#redis.reserveWindows(keys.length, ...keys, ...about, ...limits),
    )
    const uses = claims.map((_, index): WindowUse => {
      const [
        requests = 0,
        tokens = 0,
        running = 0,
        requestsWait = 0,
        tokensWait = 0,
        requestsFree = 0,
        tokensFree = 0,
      ] = values.slice(index * valuesPerClaim, (index + 1) * valuesPerClaim)
      return { requests, tokens, running, requestsWait, tokensWait, requestsFree, tokensFree }
    })
    return { isAdmitted: admitted === 1, now, uses }
  }

  /** Ends a reservation that was made at a moment of Redis's clock; frees its slots. */
  async end(
    made: {
      readonly id: string
      readonly group: string
      readonly subjects: readonly string[]
      readonly at: number
    },
    change: { readonly requests: number; readonly tokens: number; readonly surplus: number },
  ): Promise<void> {
    const keys = this.#keys(made.group, made.subjects)
    const second = Math.floor(made.at / 1000)
    const words = [this.#aheadMs(), made.id, second, change.requests, change.tokens, change.surplus]
    await this.#answerTo(this.#redis.endWindows(keys.length, ...keys, ...words))
  }

  /** Keeps the slots of a request that still runs. */
  async renew(made: {
    readonly id: string
    readonly group: string
    readonly subjects: readonly string[]
  }): Promise<void> {
    const keys = made.subjects.map((subject) => `sluice:{${made.group}}:c:${subject}`)
    const ids = made.subjects.map(() => made.id)
    const words = [this.#aheadMs(), this.#leaseMs, ...ids]
    await this.#answerTo(this.#redis.renewWindows(keys.length, ...keys, ...words))
  }

  close(): Promise<void> {
    this.#redis.disconnect()
    return Promise.resolve()
  }
}
