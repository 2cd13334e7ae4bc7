/**
 * Items of an account's last responses, to which its next requests may refer by their ids (`item_reference` in the
 * Responses API). They are in the database, so that every node of a cluster finds them, with or without Redis; encrypted,
 * for a limited time since their last use, and at most so many bytes per account: the least recently used go first.
 */
import type { Db } from '../db/db.ts'
import { sql, type ResponseItemsTable } from '../db/schema/schema.ts'
import type { Statement } from '../db/statement.ts'
import type { Sealer } from '../lib/encryption.ts'
import { getString, type Json } from '../providers/json-fields.ts'

/** Per account. */
export const maxItemBytes = 32 * 1024 * 1024
/** An item counts at least this much, which bounds the number of rows. */
const minBytesPerItem = 1024
const idsPerQuery = 500
/** The time of the last use is this exact, so that not every reference writes. */
const useIntervalMs = 60_000

const trimSql = `delete from response_items where account_id = ?
  and (select sum(bytes) from response_items where account_id = ?) > ${maxItemBytes}
  and item_id in (
    select item_id from (
      select item_id, sum(bytes) over (order by used_at desc, item_id) as total
      from response_items where account_id = ?
    ) as used where total > ${maxItemBytes}
  )`

/** Reasoning without content of its own says nothing to any provider. */
function isUsable(item: Json): boolean {
  return item['type'] !== 'reasoning' || getString(item, 'encrypted_content') !== undefined
}

export class ResponseItems {
  readonly #db: Pick<Db, 'all' | 'write'>
  readonly #sealer: Sealer
  readonly #ttlMs: number

  /** `ttlMs` 0: nothing is kept. */
  constructor(db: Pick<Db, 'all' | 'write'>, sealer: Sealer, ttlMs: number) {
    this.#db = db
    this.#sealer = sealer
    this.#ttlMs = ttlMs
  }

  get isEnabled(): boolean {
    return this.#ttlMs > 0
  }

  /**
   * The items with these ids, as JSON texts. Those that are gone are missing. `reserve` is called with their size before
   * they are read, and may throw.
   */
  async find(
    account: string,
    ids: readonly string[],
    { now, reserve }: { readonly now: number; readonly reserve: (bytes: number) => void },
  ): Promise<ReadonlyMap<string, string>> {
    if (!this.isEnabled) return new Map()
    const kept = await this.#lookUp(account, ids, ['item_id', 'bytes', 'used_at'], now)
    reserve(kept.reduce((sum, { bytes }) => sum + bytes, 0))
    const rows = await this.#lookUp(account, ids, ['item_id', 'item'], now)
    const lastUse = now - Math.min(useIntervalMs, this.#ttlMs / 2)
    const stale = kept.filter(({ used_at: usedAt }) => usedAt <= lastUse)
    await this.#touch(
      account,
      stale.map(({ item_id: id }) => id),
      now,
    )
    return new Map(
      rows.map(({ item_id: id, item }) => [id, this.#sealer.unsealBytes(item, id).toString()] as const),
    )
  }

  async #lookUp<const Column extends keyof ResponseItemsTable>(
    account: string,
    ids: readonly string[],
    columns: readonly Column[],
    now: number,
  ): Promise<Pick<ResponseItemsTable, Column>[]> {
    const rows: Pick<ResponseItemsTable, Column>[] = []
    for (let at = 0; at < ids.length; at += idsPerQuery) {
      const query = sql
        .selectFrom('response_items')
        .select(columns)
        .where('account_id', '=', account)
        .where('item_id', 'in', ids.slice(at, at + idsPerQuery))
        .where('used_at', '>', now - this.#ttlMs)
      rows.push(...(await this.#db.all<Pick<ResponseItemsTable, Column>>(query)))
    }
    return rows
  }

  /** Keeps the items that have an id. */
  async add(account: string, items: readonly Json[], now: number): Promise<void> {
    if (!this.isEnabled) return
    const rows = items.filter(isUsable).flatMap((item) => {
      const id = getString(item, 'id')
      const bytes = Buffer.from(JSON.stringify(item))
      if (id === undefined || id === '' || bytes.length > maxItemBytes) return []
      const size = Math.max(bytes.length, minBytesPerItem)
      return {
        account_id: account,
        item_id: id,
        used_at: now,
        bytes: size,
        item: this.#sealer.sealBytes(bytes, id),
      }
    })
    if (rows.length === 0) return
    const inserts = rows.map((row) =>
      sql
        .insertInto('response_items')
        .values(row)
        .onConflict((conflict) => conflict.columns(['account_id', 'item_id']).doUpdateSet(row)),
    )
    const trim: Statement = { sql: trimSql, parameters: [account, account, account] }
    await this.#db.write(...inserts, trim)
  }

  async #touch(account: string, ids: readonly string[], now: number): Promise<void> {
    for (let at = 0; at < ids.length; at += idsPerQuery) {
      await this.#db.write(
        sql
          .updateTable('response_items')
          .set({ used_at: now })
          .where('account_id', '=', account)
          .where('item_id', 'in', ids.slice(at, at + idsPerQuery))
          .where('used_at', '<', now),
      )
    }
  }
}

/** Deletes items that have not been used for `ttlMs`; 0: all. */
export async function deleteExpiredItems(db: Pick<Db, 'write'>, now: number, ttlMs: number): Promise<void> {
  await db.write(sql.deleteFrom('response_items').where('used_at', '<=', now - ttlMs))
}
