/**
 * Where providers store responses (`store: true` in the Responses API). A response belongs to the account that created it
 * and to the upstream's credential that holds it: only that account finds it, and only there is it continued.
 */
import type { Db, WorkerDb } from '../db/db.ts'
import type { ResponsePinsTable } from '../db/schema/schema.ts'
import { sql } from '../db/schema/schema.ts'

/** OpenAI keeps responses for 30 days ("Conversation state"). */
const ttlMs = 30 * 86_400_000

export class ResponsePins {
  readonly #db: Pick<Db, 'write'>
  readonly #lookups: Pick<Db, 'first'>

  constructor({ db, lookups }: WorkerDb) {
    this.#db = db
    this.#lookups = lookups
  }

  find(account: string, response: string): Promise<ResponsePinsTable | undefined> {
    const query = sql
      .selectFrom('response_pins')
      .selectAll()
      .where('account_id', '=', account)
      .where('response_id', '=', response)
      .where('at', '>', Date.now() - ttlMs)
    return this.#lookups.first(query)
  }

  async add(pin: ResponsePinsTable): Promise<void> {
    const insert = sql.insertInto('response_pins').values(pin)
    await this.#db.write(
      insert.onConflict((conflict) => conflict.columns(['account_id', 'response_id']).doUpdateSet(pin)),
    )
  }

  async remove({ account_id: account, response_id: response }: ResponsePinsTable): Promise<void> {
    await this.#db.write(
      sql.deleteFrom('response_pins').where('account_id', '=', account).where('response_id', '=', response),
    )
  }
}

/** Deletes pins of responses that providers have deleted by now. */
export async function deleteExpiredPins(db: Pick<Db, 'write'>, now: number): Promise<void> {
  await db.write(sql.deleteFrom('response_pins').where('at', '<=', now - ttlMs))
}
