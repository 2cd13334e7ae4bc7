/**
 * Rate limiting state shared by all nodes in Redis or Valkey: sliding windows and concurrency slots. The state may be
 * lost, and none of it is money. This module does not know what is limited or why.
 */
import { Redis } from 'ioredis'
import { endScript, raiseScript, renewScript, reserveScript } from './sliding-window-scripts.ts'
import { errorMessage } from '../lib/error-message.ts'

/** The limits of one subject; `null`: unlimited. */
export interface WindowLimits {
  readonly subject: string
  readonly requests: number | null
  readonly tokens: number | null
  readonly slots: number | null
}

/** In the order in which the script returns them. */
const usageFields = [
  'requests',
  'tokens',
  'running',
  // Seconds until one more request, and the requested tokens, fit; Infinity: never.
  'requestsWait',
  'tokensWait',
  // Seconds until the whole window is free again.
  'requestsFree',
  'tokensFree',
] as const

export type WindowUsage = Readonly<Record<(typeof usageFields)[number], number>>

export interface Reservation {
  readonly isAdmitted: boolean
  /** Redis's clock in milliseconds. */
  readonly now: number
  readonly uses: readonly WindowUsage[]
}

/** A reservation of some subjects. */
export interface ReservedSubjects {
  readonly id: string
  readonly group: string
  readonly subjects: readonly string[]
}

export interface RedisSlidingWindowsOptions {
  readonly url: string
  /** A slot is freed if its request was not renewed for this long. */
  readonly leaseMs: number
  readonly onReady: () => void
  /** Called at each failed connection attempt; `why` contains no secrets. */
  readonly onUnavailable: (why: string) => void
  /** Added to Redis's clock, for tests. */
  readonly aheadMs?: () => number
}

const commandTimeoutMs = 500
/** Without any reply for this long, Redis counts as unavailable, so that commands do not pile up here. */
const socketTimeoutMs = 2000
const maxReconnectDelayMs = 1000
/** After this many timed-out commands the connection is replaced, because its backlog would only grow. */
const maxTimedOutCommands = 1000
const commandTimeoutMessage = 'Command timed out'

interface Scripts {
  reserveWindows(keys: number, ...scriptArguments: (string | number)[]): Promise<number[]>
  endWindows(keys: number, ...scriptArguments: (string | number)[]): Promise<number>
  raiseWindows(keys: number, ...scriptArguments: (string | number)[]): Promise<number>
  renewWindows(keys: number, ...scriptArguments: (string | number)[]): Promise<number>
}

function createClient(url: string): Redis & Scripts {
  const redis = new Redis(url, {
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 2000,
    socketTimeout: socketTimeoutMs,
    retryStrategy: (tries) => Math.min(tries * 100, maxReconnectDelayMs),
    // The server has become a replica; its name may resolve to the new primary.
    reconnectOnError: ({ message }) => message.includes('READONLY'),
    scripts: {
      reserveWindows: { lua: reserveScript },
      endWindows: { lua: endScript },
      raiseWindows: { lua: raiseScript },
      renewWindows: { lua: renewScript },
    },
  })
  return redis as Redis & Scripts
}

/** Scripts return integers, so that they write -1 for never. */
function fromScript(value: number): number {
  return value === -1 ? Infinity : value
}

export class RedisSlidingWindows {
  readonly #redis: Redis & Scripts
  readonly #leaseMs: number
  readonly #aheadMs: () => number
  #timedOutCommands = 0

  constructor({ url, leaseMs, onReady, onUnavailable, aheadMs = () => 0 }: RedisSlidingWindowsOptions) {
    this.#leaseMs = leaseMs
    this.#aheadMs = aheadMs
    this.#redis = createClient(url)
    this.#redis.on('ready', () => {
      this.#timedOutCommands = 0
      onReady()
    })
    let why = 'the connection was closed'
    this.#redis.on('error', (error: Error) => (why = errorMessage(error)))
    this.#redis.on('close', () => onUnavailable(why))
  }

  async #countTimeouts<Reply>(reply: Promise<Reply>): Promise<Reply> {
    try {
      return await reply
    } catch (error) {
      if (errorMessage(error) !== commandTimeoutMessage) throw error
      this.#timedOutCommands += 1
      if (this.#timedOutCommands === maxTimedOutCommands) this.#redis.disconnect(true)
      throw error
    }
  }

  /** The keys of one group share a hash slot of a Redis cluster. */
  #keys(group: string, subjects: readonly string[]): string[] {
    return subjects.flatMap((subject) => [`sluice:{${group}}:w:${subject}`, `sluice:{${group}}:c:${subject}`])
  }

  /** Reserves for all subjects or none; `isForced`: counts the request even if it does not fit. Rejects if Redis does not respond. */
  async reserve(
    request: {
      readonly id: string
      readonly group: string
      readonly tokens: number
      readonly isForced?: boolean
    },
    subjects: readonly WindowLimits[],
  ): Promise<Reservation> {
    const keys = this.#keys(
      request.group,
      subjects.map(({ subject }) => subject),
    )
    const limits = subjects.flatMap(({ requests, tokens, slots }) => [
      requests ?? -1,
      tokens ?? -1,
      slots ?? -1,
    ])
    const isForced = request.isForced === true ? 1 : 0
    const scriptArguments = [this.#aheadMs(), request.id, request.tokens, this.#leaseMs, isForced]
    const [admitted = 0, now = 0, ...values] = await this.#countTimeouts(
      this.#redis.reserveWindows(keys.length, ...keys, ...scriptArguments, ...limits),
    )
    const uses = subjects.map((_, index) => {
      const usage = usageFields.map((field, offset) => [
        field,
        fromScript(values[index * usageFields.length + offset] ?? 0),
      ])
      return Object.fromEntries(usage) as WindowUsage
    })
    return { isAdmitted: admitted === 1, now, uses }
  }

  /** Ends a reservation that was made at `at` of Redis's clock, and frees its slots. */
  async end(
    { id, group, subjects, at }: ReservedSubjects & { readonly at: number },
    change: { readonly requests: number; readonly tokens: number; readonly surplus: number },
  ): Promise<void> {
    const keys = this.#keys(group, subjects)
    const { requests, tokens, surplus } = change
    const scriptArguments = [this.#aheadMs(), id, Math.floor(at / 1000), requests, tokens, surplus]
    await this.#countTimeouts(this.#redis.endWindows(keys.length, ...keys, ...scriptArguments))
  }

  /** Adds tokens to a reservation that was made at `at` of Redis's clock. */
  async raise(
    { group, subjects, at }: Omit<ReservedSubjects, 'id'> & { readonly at: number },
    tokens: number,
  ): Promise<void> {
    const keys = subjects.map((subject) => `sluice:{${group}}:w:${subject}`)
    const scriptArguments = [this.#aheadMs(), Math.floor(at / 1000), tokens]
    await this.#countTimeouts(this.#redis.raiseWindows(keys.length, ...keys, ...scriptArguments))
  }

  /** Renews the slots of a running request. */
  async renew({ id, group, subjects }: ReservedSubjects): Promise<void> {
    const keys = subjects.map((subject) => `sluice:{${group}}:c:${subject}`)
    const ids = subjects.map(() => id)
    const scriptArguments = [this.#aheadMs(), this.#leaseMs, ...ids]
    await this.#countTimeouts(this.#redis.renewWindows(keys.length, ...keys, ...scriptArguments))
  }

  close(): Promise<void> {
    this.#redis.disconnect()
    return Promise.resolve()
  }
}
