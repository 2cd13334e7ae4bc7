/**
 * The Db over PostgreSQL, with a few pooled connections per thread. Writes are serialized in the whole cluster, as in
 * SQLite: there are few, and what a batch has checked stays true until it commits.
 */

import type { PoolClient } from 'pg'
import { compileQuery, type Db, type Query } from '../db.ts'
import type { Statement, StatementResult } from '../statement.ts'
import { StoreError } from '../store-error.ts'
import { systemOwner } from '../../lib/fair-queue.ts'
import { createQueryQueue } from '../query-queue.ts'
import { openPool, runStatement } from './connection.ts'
import { isConnectionLost, toPostgresFailure } from './errors.ts'
import { writeLock } from './advisory-locks.ts'

export interface PostgresDb extends Db {
  close(): Promise<void>
}

const readConnections = 2
const writeConnections = 1
const readTimeoutMs = 15_000
const reportTimeoutMs = 300_000
async function runBatch(client: PoolClient, statements: readonly Statement[]): Promise<StatementResult[]> {
  const results: StatementResult[] = []
  let isCommitting = false
  try {
    await client.query('begin')
    await client.query(writeLock)
    for (const statement of statements) {
      const result = await runStatement(client, statement)
      const expected = statement.expectChanges
      if (expected !== undefined && result.changes !== expected) {
        const message = `A statement changed ${result.changes} rows instead of ${expected}.`
        throw new StoreError({ class: 'conflict', message })
      }
      results.push(result)
    }
    isCommitting = true
    await client.query('commit')
    return results
  } catch (error) {
    const isInDoubt = isCommitting && isConnectionLost(error)
    throw new StoreError({ ...toPostgresFailure(error, results.length), isInDoubt })
  }
}

/** `name`: shown in `pg_stat_activity`. */
export function openPostgresDb(url: string, name: string): PostgresDb {
  const readPool = openPool({ url, name, statementMs: readTimeoutMs, readOnly: true }, readConnections)
  const reportPool = openPool(
    { url, name: `${name} reports`, statementMs: reportTimeoutMs, readOnly: true },
    1,
  )
  const reportQueue = createQueryQueue()
  const writePool = openPool({ url, name, statementMs: readTimeoutMs }, writeConnections)
  async function read<Result>(from: typeof readPool, query: Query<Result>): Promise<Result[]> {
    try {
      // The schema and the integer rule of connection.ts guarantee the query's type.
      return (await runStatement(from, compileQuery(query))).rows as Result[]
    } catch (error) {
      throw new StoreError(toPostgresFailure(error))
    }
  }
  return {
    all: (query) => read(readPool, query),
    report: (query, account = systemOwner) => reportQueue.run(account, () => read(reportPool, query)),
    first: async (query) => (await read(readPool, query))[0],
    async write(...queries) {
      const statements = queries.map(compileQuery)
      const client = await writePool.connect().catch((error: unknown) => {
        throw new StoreError(toPostgresFailure(error))
      })
      try {
        const results = await runBatch(client, statements)
        client.release()
        return results
      } catch (error) {
        // Closing the connection ends an unfinished transaction.
        client.release(true)
        throw error
      }
    },
    async close() {
      await Promise.all([readPool.end(), reportPool.end(), writePool.end()])
    },
  }
}
