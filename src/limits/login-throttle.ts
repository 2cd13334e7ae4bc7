/**
 * Throttles attempts at what could be guessed: sign-in, codes, links, vouchers. It counts in the database, by the
 * client's network and by what is tried, whether that exists or not: across all threads and nodes, and across restarts.
 */
import { createHash } from 'node:crypto'
import type { Db, Query } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { apiError, type ApiError } from '../errors.ts'
import { addressNetwork, siteNetwork } from '../lib/address-network.ts'

interface Limit {
  /** At most so many within `windowMs`: by subject, by network, or by both, as the attempt names them. */
  readonly maxAttempts: number
  readonly windowMs: number
  /** At most so many for one subject from all networks together, except those with a success in the last 90 days. */
  readonly maxFromAnywhere?: number
  /** Of the error. */
  readonly message?: string
}

const limits = {
  'sign-in-address': { maxAttempts: 60, windowMs: 900_000 },
  /** Per network, so that others cannot lock the owner out. */
  'sign-in-email': { maxAttempts: 10, windowMs: 900_000, maxFromAnywhere: 100 },
  'sign-up-address': { maxAttempts: 20, windowMs: 3_600_000 },
  'link-address': { maxAttempts: 60, windowMs: 900_000 },
  /** E-mails to an address. */
  'mail-email': { maxAttempts: 5, windowMs: 3_600_000 },
  'mail-address': { maxAttempts: 30, windowMs: 3_600_000 },
  /** Re-entering the own password, and codes of a new authenticator. */
  'proof-person': { maxAttempts: 10, windowMs: 900_000 },
  /** Voucher codes that do not exist. */
  'voucher-account': { maxAttempts: 10, windowMs: 600_000 },
  /** What the sessions of an account change. */
  'session-write': {
    maxAttempts: 60,
    windowMs: 60_000,
    message: 'Too many changes. Try again in a minute.',
  },
} as const satisfies Record<string, Limit>

export type ThrottleRule = keyof typeof limits

/** What an attempt is counted by; both: by the two together. */
export interface ThrottleSubject {
  /** An account, a user or an e-mail address. */
  readonly id?: string
  /** The client's IP address. */
  readonly address?: string
}

/** One count, with its limit. */
interface Counter {
  readonly message?: string | undefined
  readonly name: string
  readonly maxAttempts: number
  /** The name of the mark that a success from this network left. With that mark, the counter does not apply. */
  readonly successName?: string
}

const successDays = 90
/** How many times the limit of a network a whole site may use. */
const siteScale = 10
/** The number of blocked counters kept in memory, which spares the database under a flood. */
const maxBlocked = 10_000

/** Parts of a caller's choice cannot pass for others, because JSON quotes them. */
function hashName(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}

function countersOf(limit: Limit, rule: ThrottleRule, { id = '', address }: ThrottleSubject): Counter[] {
  const { maxAttempts, maxFromAnywhere, message } = limit
  const network = address === undefined ? '' : addressNetwork(address)
  const site = address === undefined ? null : siteNetwork(address)
  const counters: Counter[] = [{ name: hashName(rule, id, network), maxAttempts, message }]
  if (site !== null) counters.push({ name: hashName(rule, id, site), maxAttempts: maxAttempts * siteScale })
  if (maxFromAnywhere === undefined) return counters
  const successName = hashName(rule, id, network, 'success')
  return [...counters, { name: hashName(rule, id), maxAttempts: maxFromAnywhere, successName }]
}

function tooManyAttempts(
  retryAfterMs: number,
  message = 'Too many attempts. Try again in a few minutes.',
): ApiError {
  return apiError('rate_limit_exceeded', { message, retryAfterMs })
}

export class LoginThrottle {
  readonly #db: Db
  readonly #now: () => number
  readonly #writesPerMinute: number
  /** The end of each block; the oldest block first. */
  readonly #blockedUntil = new Map<string, number>()

  /** `writesPerMinute`: of the sessions of an account. */
  constructor(
    db: Db,
    now: () => number = Date.now,
    writesPerMinute: number = limits['session-write'].maxAttempts,
  ) {
    this.#db = db
    this.#now = now
    this.#writesPerMinute = writesPerMinute
  }

  #countersOf(rule: ThrottleRule, subject: ThrottleSubject): Counter[] {
    const limit: Limit = limits[rule]
    const isWrite = rule === 'session-write'
    return countersOf(isWrite ? { ...limit, maxAttempts: this.#writesPerMinute } : limit, rule, subject)
  }

  /** Throws 429 with the time to wait if there were too many attempts. Does not count an attempt. */
  async check(rule: ThrottleRule, subject: ThrottleSubject): Promise<void> {
    for (const counter of this.#countersOf(rule, subject)) {
      await this.#throwIfBlocked(counter)
      const query = sql.selectFrom('attempts').select(['tries', 'until']).where('name', '=', counter.name)
      const found = await this.#db.first(query.where('until', '>', this.#now()))
      if (found && found.tries >= counter.maxAttempts) await this.#block(counter, found.until)
    }
  }

  /** Counts an attempt. Throws 429 with the time to wait if there were too many. */
  async count(rule: ThrottleRule, subject: ThrottleSubject): Promise<void> {
    const counters = this.#countersOf(rule, subject)
    for (const counter of counters) await this.#throwIfBlocked(counter)
    // In one order everywhere: two transactions that wait for each other's rows would fail.
    const ordered = counters.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    const now = this.#now()
    const until = now + limits[rule].windowMs
    const results = await this.#db.write(...ordered.map(({ name }) => incrementStatement(name, until, now)))
    for (const [index, counter] of ordered.entries()) {
      const row = results[index]?.rows[0]
      if (row && Number(row['tries']) > counter.maxAttempts) await this.#block(counter, Number(row['until']))
    }
  }

  /** Resets the counts: the attempt was successful. */
  async reset(rule: ThrottleRule, subject: ThrottleSubject): Promise<void> {
    const counters = this.#countersOf(rule, subject)
    const names = counters.map(({ name }) => name).toSorted()
    for (const name of names) this.#blockedUntil.delete(name)
    const until = this.#now() + successDays * 86_400_000
    const marks = counters.flatMap(({ successName }) => (successName === undefined ? [] : [successName]))
    await this.#db.write(
      ...names.map((name) => sql.deleteFrom('attempts').where('name', '=', name)),
      ...marks.map((name) =>
        sql
          .insertInto('attempts')
          .values({ name, tries: 0, until })
          .onConflict((conflict) => conflict.column('name').doUpdateSet({ until })),
      ),
    )
  }

  async #throwIfBlocked(counter: Counter): Promise<void> {
    const until = this.#blockedUntil.get(counter.name)
    if (until === undefined) return
    if (until > this.#now()) await this.#block(counter, until)
    else this.#blockedUntil.delete(counter.name)
  }

  /** Throws 429, unless the counter does not apply to this network. */
  async #block({ name, successName, message }: Counter, until: number): Promise<void> {
    this.#blockedUntil.set(name, until)
    const [oldest] = this.#blockedUntil.keys()
    if (this.#blockedUntil.size > maxBlocked && oldest !== undefined) this.#blockedUntil.delete(oldest)
    if (successName !== undefined) {
      const query = sql.selectFrom('attempts').select('name').where('name', '=', successName)
      if ((await this.#db.first(query.where('until', '>', this.#now()))) !== undefined) return
    }
    throw tooManyAttempts(until - this.#now(), message)
  }
}

function incrementStatement(name: string, until: number, now: number): Query {
  return {
    sql: `insert into attempts (name, tries, until) values (?, 1, ?) on conflict (name) do update set
      tries = case when attempts.until > ? then attempts.tries + 1 else 1 end,
      until = case when attempts.until > ? then attempts.until else excluded.until end
      returning tries, until`,
    parameters: [name, until, now, now],
  }
}

/** Deletes expired counts. */
export async function deleteExpiredAttempts(db: Db, now: number): Promise<void> {
  await db.write(sql.deleteFrom('attempts').where('until', '<=', now))
}
