/**
 * How often somebody may try what guessing could open: signing in, codes, links, vouchers. Counted in the database, by
 * address and by what is tried, whether it exists or not: over all threads and nodes, and over their ends.
 */

import { createHash } from 'node:crypto'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { refuse, type Refusal } from '../errors.ts'

/** So many tries within so long. */
const rules = {
  'sign-in-address': { most: 60, withinMs: 900_000 },
  'sign-in-email': { most: 10, withinMs: 900_000 },
  'sign-up-address': { most: 20, withinMs: 3_600_000 },
  'link-address': { most: 60, withinMs: 900_000 },
  /** Letters to one address. */
  'mail-email': { most: 5, withinMs: 3_600_000 },
  'mail-address': { most: 30, withinMs: 3_600_000 },
  /** Showing one's own password again, and codes of a new authenticator. */
  'proof-person': { most: 10, withinMs: 900_000 },
  /** Codes of vouchers that do not exist. */
  'voucher-account': { most: 10, withinMs: 600_000 },
} as const

export type AttemptRule = keyof typeof rules

/** Of those who were sent away so many are known here, so that the database is spared a flood. */
const stoppedMost = 10_000

function nameOf(rule: AttemptRule, subject: string): string {
  return createHash('sha256').update(`${rule} ${subject}`).digest('base64url')
}

function tooMany(retryAfterMs: number): Refusal {
  return refuse('rate_limit_exceeded', { message: 'Too many tries. Wait a little.', retryAfterMs })
}

export class Attempts {
  readonly #db: Db
  readonly #now: () => number
  /** Until when; whoever was stopped longest ago first. */
  readonly #stopped = new Map<string, number>()

  constructor(db: Db, now: () => number = Date.now) {
    this.#db = db
    this.#now = now
  }

  /** Throws 429 with the time to wait when there were too many, and counts nothing. */
  async check(rule: AttemptRule, subject: string): Promise<void> {
    const name = nameOf(rule, subject)
    this.#checkStopped(name)
    const query = sql.selectFrom('attempts').select(['tries', 'until']).where('name', '=', name)
    const found = await this.#db.first(query.where('until', '>', this.#now()))
    if (found && found.tries >= rules[rule].most) this.#stop(name, found.until)
  }

  /** Counts one try. Throws 429 with the time to wait when there were too many. */
  async count(rule: AttemptRule, subject: string): Promise<void> {
    const name = nameOf(rule, subject)
    this.#checkStopped(name)
    const { most, withinMs } = rules[rule]
    const now = this.#now()
    const [result] = await this.#db.write({
      sql: `insert into attempts (name, tries, until) values (?, 1, ?) on conflict (name) do update set
        tries = case when attempts.until > ? then attempts.tries + 1 else 1 end,
        until = case when attempts.until > ? then attempts.until else excluded.until end
        returning tries, until`,
      parameters: [name, now + withinMs, now, now],
    })
    const [row] = result?.rows ?? []
    if (row && Number(row['tries']) > most) this.#stop(name, Number(row['until']))
  }

  /** It was no guess. */
  async forgive(rule: AttemptRule, subject: string): Promise<void> {
    const name = nameOf(rule, subject)
    this.#stopped.delete(name)
    await this.#db.write(sql.deleteFrom('attempts').where('name', '=', name))
  }

  #checkStopped(name: string): void {
    const until = this.#stopped.get(name) ?? 0
    if (until > this.#now()) throw tooMany(until - this.#now())
    this.#stopped.delete(name)
  }

  #stop(name: string, until: number): never {
    this.#stopped.set(name, until)
    const [longest] = this.#stopped.keys()
    if (this.#stopped.size > stoppedMost && longest !== undefined) this.#stopped.delete(longest)
    throw tooMany(until - this.#now())
  }
}

/** Forgets what is over. */
export async function forgetAttempts(db: Db, now: number): Promise<void> {
  await db.write(sql.deleteFrom('attempts').where('until', '<=', now))
}
