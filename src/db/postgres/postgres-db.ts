/**
 * The Db of db.ts over PostgreSQL: each thread has a few connections of its own. Writes happen one after the other in
 * the whole cluster, as they do in SQLite: there are few, and what a batch has checked stays true until it is done.
 */

import type { PoolClient } from 'pg'
import { statementOf, type Db, type Query } from '../db.ts'
import type { Statement, StatementResult } from '../messages.ts'
import { StoreError } from '../store-error.ts'
import { openPool, runOn } from './connection.ts'
import { postgresFailure } from './errors.ts'
import { writeLock } from './advisory-locks.ts'

export interface PostgresDb extends Db {
  close(): Promise<void>
}

const readers = 2
const writers = 1
const reporters = 1
const readMs = 15_000
const reportMs = 300_000
async function runBatch(client: PoolClient, statements: readonly Statement[]): Promise<StatementResult[]> {
  const results: StatementResult[] = []
  try {
    await client.query('begin')
    await client.query(writeLock)
    for (const statement of statements) {
      const result = await runOn(client, statement)
      const expected = statement.expectChanges
      if (expected !== undefined && result.changes !== expected) {
        const message = `A statement changed ${result.changes} rows where ${expected} were expected.`
        throw new StoreError({ class: 'conflict', message })
      }
      results.push(result)
    }
    await client.query('commit')
    return results
  } catch (error) {
    throw new StoreError(postgresFailure(error, results.length))
  }
}

/** `name`: who asks, as the database shows it. */
export function openPostgresDb(url: string, name: string): PostgresDb {
  const reading = openPool({ url, name, statementMs: readMs, readOnly: true }, readers)
  const reporting = openPool(
    { url, name: `${name} reports`, statementMs: reportMs, readOnly: true },
    reporters,
  )
  const writing = openPool({ url, name, statementMs: readMs }, writers)
  async function read<Result>(from: typeof reading, query: Query<Result>): Promise<Result[]> {
    try {
      // The query's type says what its columns are; the schema and the integer rule of connect.ts make it true.
      return (await runOn(from, statementOf(query))).rows as Result[]
    } catch (error) {
      throw new StoreError(postgresFailure(error))
    }
  }
  return {
    all: (query) => read(reading, query),
    report: (query) => read(reporting, query),
    first: async (query) => (await read(reading, query))[0],
    async write(...queries) {
      const statements = queries.map(statementOf)
      const client = await writing.connect().catch((error: unknown) => {
        throw new StoreError(postgresFailure(error))
      })
      try {
        const results = await runBatch(client, statements)
        client.release()
        return results
      } catch (error) {
        // What is left of the transaction ends with its connection.
        client.release(true)
        throw error
      }
    },
    async close() {
      await Promise.all([reading.end(), reporting.end(), writing.end()])
    },
  }
}
