/**
 * Responses stored under an `Idempotency-Key` for 24 hours. They are read and encrypted here. Those of relayed requests
 * are written in the commit that ends the request's hold (db/journal.ts), those of the admin API by
 * db/idempotent-calls.ts.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { storedResponseTtlMs } from '../db/retention/stored-responses.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isUnavailable } from '../db/store-error.ts'
import type { Sealer } from '../lib/encryption.ts'

/** A database that has just become unavailable is retried for as long as ledger operations wait for it. */
const retryTimeoutMs = 5000
const retryIntervalMs = 100

export interface StoredResponse {
  /** The request that claimed the key. */
  readonly requestId: string
  /** SHA-256 of its path and body, in base64url. */
  readonly body: string
  /** When the key was claimed, in milliseconds. */
  readonly at: number
  readonly cost: bigint
  /** The response without its price. null if it was truncated or is too large to store, or is not known (yet). */
  readonly response: Buffer | null
}

/** Reads and encrypts stored responses. */
export class StoredResponses {
  readonly #db: Pick<Db, 'first'>
  readonly #sealer: Sealer

  constructor(db: Pick<Db, 'first'>, sealer: Sealer) {
    this.#db = db
    this.#sealer = sealer
  }

  /**
   * The result under an account's (or an administrator's) key within the last 24 hours. undefined if the key is free,
   * or if a relayed request with it is still running.
   */
  async find(account: string, keyHash: string): Promise<StoredResponse | undefined> {
    for (const end = performance.now() + retryTimeoutMs; ; await delay(retryIntervalMs)) {
      try {
        return await this.#find(account, keyHash)
      } catch (error) {
        if (!isUnavailable(error) || performance.now() > end) throw error
      }
    }
  }

  async #find(account: string, keyHash: string): Promise<StoredResponse | undefined> {
    const query = sql
      .selectFrom('kept_answers')
      .select(['request_id', 'body_hash', 'at', 'cost_nanos', 'answer'])
      .where('account_id', '=', account)
      .where('key_hash', '=', keyHash)
      .where('at', '>', Date.now() - storedResponseTtlMs)
    const row = await this.#db.first(query)
    if (!row) return undefined
    const { request_id: requestId, body_hash: body, at, cost_nanos: cost, answer: response } = row
    return { requestId, body, at, cost, response: response && this.#sealer.unsealBytes(response, requestId) }
  }

  /** Encrypts a response for the row of its request. */
  seal(response: Uint8Array, requestId: string): Uint8Array {
    return this.#sealer.sealBytes(response, requestId)
  }
}
