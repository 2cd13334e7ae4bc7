/**
 * Throttles attempts at what could be guessed: sign-in, codes, links, vouchers. It counts in the database, by address
 * and by what is tried, whether that exists or not: across all threads and nodes, and across restarts.
 */
import { createHash } from 'node:crypto'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { apiError, type ApiError } from '../errors.ts'

/** At most `maxAttempts` within `windowMs`. */
const limits = {
  'sign-in-address': { maxAttempts: 60, windowMs: 900_000 },
  'sign-in-email': { maxAttempts: 10, windowMs: 900_000 },
  'sign-up-address': { maxAttempts: 20, windowMs: 3_600_000 },
  'link-address': { maxAttempts: 60, windowMs: 900_000 },
  /** E-mails to an address. */
  'mail-email': { maxAttempts: 5, windowMs: 3_600_000 },
  'mail-address': { maxAttempts: 30, windowMs: 3_600_000 },
  /** Re-entering the own password, and codes of a new authenticator. */
  'proof-person': { maxAttempts: 10, windowMs: 900_000 },
  /** Voucher codes that do not exist. */
  'voucher-account': { maxAttempts: 10, windowMs: 600_000 },
} as const

export type ThrottleRule = keyof typeof limits

/** The number of blocked subjects kept in memory, which spares the database under a flood. */
const maxBlocked = 10_000

function hashSubject(rule: ThrottleRule, subject: string): string {
  return createHash('sha256').update(`${rule} ${subject}`).digest('base64url')
}

function tooManyAttempts(retryAfterMs: number): ApiError {
  return apiError('rate_limit_exceeded', {
    message: 'Too many attempts. Try again in a few minutes.',
    retryAfterMs,
  })
}

export class LoginThrottle {
  readonly #db: Db
  readonly #now: () => number
  /** The end of each block; the oldest block first. */
  readonly #blockedUntil = new Map<string, number>()

  constructor(db: Db, now: () => number = Date.now) {
    this.#db = db
    this.#now = now
  }

  /** Throws 429 with the time to wait if there were too many attempts. Does not count an attempt. */
  async check(rule: ThrottleRule, subject: string): Promise<void> {
    const name = hashSubject(rule, subject)
    this.#throwIfBlocked(name)
    const query = sql.selectFrom('attempts').select(['tries', 'until']).where('name', '=', name)
    const found = await this.#db.first(query.where('until', '>', this.#now()))
    if (found && found.tries >= limits[rule].maxAttempts) this.#block(name, found.until)
  }

  /** Counts an attempt. Throws 429 with the time to wait if there were too many. */
  async count(rule: ThrottleRule, subject: string): Promise<void> {
    const name = hashSubject(rule, subject)
    this.#throwIfBlocked(name)
    const { maxAttempts, windowMs } = limits[rule]
    const now = this.#now()
    const [result] = await this.#db.write({
      sql: `insert into attempts (name, tries, until) values (?, 1, ?) on conflict (name) do update set
        tries = case when attempts.until > ? then attempts.tries + 1 else 1 end,
        until = case when attempts.until > ? then attempts.until else excluded.until end
        returning tries, until`,
      parameters: [name, now + windowMs, now, now],
    })
    const [row] = result?.rows ?? []
    if (row && Number(row['tries']) > maxAttempts) this.#block(name, Number(row['until']))
  }

  /** Resets the count: the attempt was successful. */
  async reset(rule: ThrottleRule, subject: string): Promise<void> {
    const name = hashSubject(rule, subject)
    this.#blockedUntil.delete(name)
    await this.#db.write(sql.deleteFrom('attempts').where('name', '=', name))
  }

  #throwIfBlocked(name: string): void {
    const until = this.#blockedUntil.get(name) ?? 0
    if (until > this.#now()) throw tooManyAttempts(until - this.#now())
    this.#blockedUntil.delete(name)
  }

  #block(name: string, until: number): never {
    this.#blockedUntil.set(name, until)
    const [oldest] = this.#blockedUntil.keys()
    if (this.#blockedUntil.size > maxBlocked && oldest !== undefined) this.#blockedUntil.delete(oldest)
    throw tooManyAttempts(until - this.#now())
  }
}

/** Deletes expired counts. */
export async function deleteExpiredAttempts(db: Db, now: number): Promise<void> {
  await db.write(sql.deleteFrom('attempts').where('until', '<=', now))
}
