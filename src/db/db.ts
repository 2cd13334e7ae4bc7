/**
 * The database as every thread sees it: reads that come back as rows, batches of writes that happen as a whole or
 * not at all. Queries are compiled with Kysely (schema.ts) or given as `{ sql, parameters }`; the threads of this
 * room run them.
 */

import type { Compilable } from 'kysely'
import type { MessagePort } from 'node:worker_threads'
import type { Parameter, ReaderRequest, Row, Statement, StatementResult, StoreRequest } from './messages.ts'
import { PortClient } from './sqlite/port-client.ts'

/** A Kysely query not yet compiled, or SQL with its bound parameters. */
export type Query<Result = unknown> = Compilable<Result> | Statement

export interface Db {
  /** All rows. Sees every write that was acknowledged before. */
  all<Result>(query: Query<Result>): Promise<Result[]>
  first<Result>(query: Query<Result>): Promise<Result | undefined>
  /** As `all`, in the thread for heavy statistics: these wait for each other and for nothing else. */
  report<Result>(query: Query<Result>): Promise<Result[]>
  /**
   * Runs statements in order, all or nothing; resolves when durable, with the rows and changes of each.
   * Rejects with StoreError: `conflict` when a constraint or an expectation (see `expecting`) does not hold.
   */
  write(...queries: Query[]): Promise<StatementResult[]>
}

/** The ends of three channels, transferable to the thread that will use them: `[writer, reader, reporter]`. */
export interface DbPorts {
  readonly writer: MessagePort
  readonly reader: MessagePort
  readonly reporter: MessagePort
}

function parameterOf(value: unknown): Parameter {
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

/** Compiles a query to what a thread runs. */
export function statementOf(query: Query): Statement {
  if (!('compile' in query)) return query
  const compiled = query.compile()
  return { sql: compiled.sql, parameters: compiled.parameters.map(parameterOf) }
}

/** A statement whose batch is undone (`conflict`) unless it changes, or returns, exactly so many rows. */
export function expecting(query: Query, changes: number): Statement {
  return { ...statementOf(query), expectChanges: changes }
}

/** The Db over ports that `Store.portsForWorker()` made; usable in the thread that holds them. */
export function connectDb(ports: DbPorts): Db {
  const writer = new PortClient<StatementResult[]>(ports.writer)
  return dbOver(writer, ports)
}

/** As connectDb, for a thread that also sends ledger commits over the same writer and so keeps their order. */
export function dbOver(
  writer: PortClient<StatementResult[]>,
  ports: Pick<DbPorts, 'reader' | 'reporter'>,
): Db {
  const reader = new PortClient<Row[]>(ports.reader)
  const reporter = new PortClient<Row[]>(ports.reporter)
  async function read<Result>(from: PortClient<Row[]>, query: Query<Result>): Promise<Result[]> {
    const statement = statementOf(query)
    const rows = await from.ask((id): ReaderRequest => ({ id, statement }))
    // The query's type says what its columns are; STRICT tables and the integer rule of sqlite.ts make it true.
    return rows as Result[]
  }
  return {
    all: (query) => read(reader, query),
    report: (query) => read(reporter, query),
    async first(query) {
      return (await read(reader, query))[0]
    },
    async write(...queries) {
      const statements = queries.map(statementOf)
      return writer.ask((id): StoreRequest => ({ id, kind: 'write', statements }))
    },
  }
}
