/**
 * The database interface of every thread: reads that return rows, and batches of writes in one transaction. Queries are
 * Kysely queries (schema.ts) or `{ sql, parameters }`. Implementations are in sqlite/ and postgres/.
 */

import type { Compilable } from 'kysely'
import { apiError } from '../errors.ts'
import type { Parameter, Statement, StatementResult } from './statement.ts'
import { isExpectationFailureOf, StoreError } from './store-error.ts'

/** A Kysely query not yet compiled, or SQL with its bound parameters. */
export type Query<Result = unknown> = Compilable<Result> | Statement

export interface Db {
  /** Returns all rows. Sees every write that was acknowledged before. */
  all<Result>(query: Query<Result>): Promise<Result[]>
  first<Result>(query: Query<Result>): Promise<Result | undefined>
  /**
   * Like `all`, on the thread or connection for heavy statistics, so that they delay only each other. Accounts take turns
   * (lib/fair-queue.ts). `account`: whose report it is; absent: an operator's or the relay's own. Rejects with StoreError `busy`.
   */
  report<Result>(query: Query<Result>, account?: string): Promise<Result[]>
  /**
   * Runs statements in order in one transaction; resolves when it is durable, with the rows and changes of each.
   * Rejects with StoreError: `conflict` if a constraint or an expectation (see `expectChanges`) fails.
   */
  write(...queries: Query[]): Promise<StatementResult[]>
}

/** The database as a worker uses it. */
export interface WorkerDb {
  readonly db: Db
  /** For what a relayed request waits for: neither pages nor reports delay it. */
  readonly lookups: Pick<Db, 'first'>
}

function toParameter(value: unknown): Parameter {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'bigint':
      return value
    case 'boolean':
      return value ? 1 : 0
    default:
      if (value === null || value instanceof Uint8Array) return value
      throw new TypeError(`A ${typeof value} cannot be bound to a query.`)
  }
}

/** Compiles a query to a statement. */
export function compileQuery(query: Query): Statement {
  if (!('compile' in query)) return query
  const compiled = query.compile()
  return { sql: compiled.sql, parameters: compiled.parameters.map(toParameter) }
}

/** A database whose statements `run` executes one by one on a connection, for example in one transaction. */
export function statementDb(run: (statement: Statement) => Promise<StatementResult>): Db {
  async function rowsOf<Result>(query: Query<Result>): Promise<Result[]> {
    // The schema and the integer rule of the connections guarantee the query's type.
    return (await run(compileQuery(query))).rows as Result[]
  }
  return {
    all: rowsOf,
    report: rowsOf,
    first: async (query) => (await rowsOf(query))[0],
    async write(...queries) {
      const results = []
      for (const query of queries) results.push(await run(compileQuery(query)))
      return results
    },
  }
}

export function readOnlyDb(db: Db): Db {
  return { ...db, write: () => Promise.reject(new Error('A snapshot is read-only.')) }
}

/** How long to wait before the next report, if too many of the account are waiting. */
const busyRetryMs = 5000

/** The same database; its reports are those of this account. They reject with 429 if too many of them are waiting. */
export function reportsOfAccount(db: Db, account: string): Db {
  return {
    ...db,
    async report(query) {
      try {
        return await db.report(query, account)
      } catch (error) {
        if (!(error instanceof StoreError) || error.class !== 'busy') throw error
        const message = 'Too many reports of this account are being computed. Try again in a few seconds.'
        throw apiError('rate_limit_exceeded', { message, retryAfterMs: busyRetryMs })
      }
    },
  }
}

/** Returns a statement that rolls its batch back (`conflict`) unless it changes, or returns, exactly `changes` rows. */
export function expectChanges(query: Query, changes: number): Statement {
  return { ...compileQuery(query), expectChanges: changes }
}

/**
 * A statement that rolls its batch back (`conflict`) if a count or sum is larger. `total` returns one number. Where a
 * count bounds rows, it follows their statement in the same batch: one that is read before may be out of date.
 */
export function requireAtMost(total: Query, max: number | bigint): Statement {
  const { sql, parameters } = compileQuery(total)
  return {
    sql: `select 1 as within where coalesce((${sql}), 0) <= ?`,
    parameters: [...parameters, max],
    expectChanges: 1,
  }
}

/**
 * Runs a batch whose first statement is for one row. If it changes none, because the row does not exist or is not in the
 * expected state, nothing is written and the result is false.
 */
export async function writeIfFound(db: Pick<Db, 'write'>, first: Query, ...rest: Query[]): Promise<boolean> {
  try {
    await db.write(expectChanges(first, 1), ...rest)
    return true
  } catch (error) {
    if (isExpectationFailureOf(error, 0)) return false
    throw error
  }
}

/** A page of a list; `next` is the cursor of the next page, null on the last one. */
export interface Page<Item> {
  readonly data: Item[]
  readonly next: string | null
}

export interface PageOptions {
  readonly limit: number
  /** `next` of the previous page; in a list that is ordered by id, its last id. */
  readonly cursor?: string | undefined
}

/** The page in rows that were read with a limit of one more. */
export function pageOf<Row extends { readonly id: string }, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
): Page<Item> {
  const visible = rows.slice(0, limit)
  return { data: visible.map(toItem), next: rows.length > limit ? (visible.at(-1)?.id ?? null) : null }
}

/** The index range of texts with a prefix: from the first, below the second. */
export function prefixRange(prefix: string): readonly [string, string] {
  return [prefix, `${prefix}\u{10ffff}`]
}

/** The pattern of texts with this part, for `like ? escape '!'`. */
export function likePattern(part: string): string {
  return `%${part.replaceAll(/[!%_]/g, '!$&')}%`
}
