/**
 * What requests under an `Idempotency-Key` came to, for 24 hours: read and sealed here, written with the commit that ends
 * a request's hold (db/journal.ts).
 */
import { setTimeout as delay } from 'node:timers/promises'
import { keptMs } from '../db/kept-answers.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isAway } from '../db/store-error.ts'
import type { Sealer } from '../lib/encryption.ts'

/** A database that has just gone is waited for, as it is by whoever wants money of it. */
const patienceMs = 5000
const retryMs = 100

export interface Kept {
  /** The request that the key belongs to. */
  readonly requestId: string
  /** SHA-256 of its body, as base64url. */
  readonly body: string
  readonly cost: bigint
  /** What its caller was told, but for the price; null when it was cut off, or is too large to keep. */
  readonly answer: Buffer | null
}

/** The disk's side of idempotent requests. */
export class KeptAnswers {
  readonly #db: Db
  readonly #sealer: Sealer

  constructor(db: Db, sealer: Sealer) {
    this.#db = db
    this.#sealer = sealer
  }

  /** What an account's key came to within the last 24 hours; undefined when it is free, or its request still runs. */
  async find(account: string, keyHash: string): Promise<Kept | undefined> {
    for (const end = performance.now() + patienceMs; ; await delay(retryMs)) {
      try {
        return await this.#find(account, keyHash)
      } catch (error) {
        if (!isAway(error) || performance.now() > end) throw error
      }
    }
  }

  async #find(account: string, keyHash: string): Promise<Kept | undefined> {
    const query = sql
      .selectFrom('kept_answers')
      .select(['request_id', 'body_hash', 'cost_nanos', 'answer'])
      .where('account_id', '=', account)
      .where('key_hash', '=', keyHash)
      .where('at', '>', Date.now() - keptMs)
    const row = await this.#db.first(query)
    if (!row) return undefined
    const { request_id: requestId, body_hash: body, cost_nanos: cost, answer } = row
    return { requestId, body, cost, answer: answer && this.#sealer.unsealBytes(answer, requestId) }
  }

  /** Seals an answer for the row of its request. */
  seal(answer: Uint8Array, requestId: string): Uint8Array {
    return this.#sealer.sealBytes(answer, requestId)
  }
}
