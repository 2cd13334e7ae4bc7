/**
 * Connections to PostgreSQL, and what comes over them read as the schema says: `_nanos` as bigint, every other integer
 * as number, bytes as bytes.
 */

import { Client, Pool, types, type ClientConfig, type PoolClient, type QueryResult } from 'pg'
import type { Parameter, Row, Statement, StatementResult } from '../messages.ts'
import { WrongServer } from './errors.ts'
import { withNumbers } from './sql-text.ts'
import { errorWords } from '../../lib/error-message.ts'

/** int8, int2, int4, numeric: how wide a number is says nothing about what it is, its column's name does. */
const integers: ReadonlySet<number> = new Set([20, 21, 23, 1700])
const asText = (text: string): string => text
/** A node that has lost its network must not keep others waiting for rows that it has locked. */
const idleMs = 10_000
const connectMs = 3000
/** SQL_ASCII keeps bytes as they are. */
const unicode: ReadonlySet<string> = new Set(['UTF8', 'SQL_ASCII'])
const checkText = `select pg_is_in_recovery() as standby, current_setting('synchronous_commit') = 'on' as durable,
  current_setting('server_encoding') as encoding,
  extract(epoch from current_setting('idle_in_transaction_session_timeout')::interval)::float8 * 1000 as idle`

export interface Connecting {
  readonly url: string
  /** Shown in `pg_stat_activity`. */
  readonly name: string
  /** A statement that takes longer is given up. */
  readonly statementMs: number
  readonly readOnly?: boolean
  /** A transaction in which nothing is said for longer is ended. */
  readonly idleInTransactionMs?: number
  /** More settings of its own, as options. */
  readonly settings?: string
}

/** An address without its `options`, and those: in the address they would take the place of all of ours. */
function apart(url: string): readonly [address: string, options: string] {
  const address = URL.canParse(url) ? new URL(url) : null
  const options = address?.searchParams.get('options') ?? ''
  if (address === null || options === '') return [url, '']
  address.searchParams.delete('options')
  return [address.href, options]
}

/** Settings on which our promises rest, whatever the server's defaults are, or an operator's options. */
function configOf(connecting: Connecting): ClientConfig {
  const { url, name, statementMs, readOnly = false, idleInTransactionMs = idleMs, settings = '' } = connecting
  const [address, asked] = apart(url)
  return {
    connectionString: address,
    application_name: name,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: statementMs,
    // A network that swallows everything must not be waited for longer than the server would take.
    query_timeout: statementMs + 1000,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    options: [
      asked,
      '-c default_transaction_isolation=read\\ committed',
      `-c default_transaction_read_only=${readOnly ? 'on' : 'off'}`,
      '-c synchronous_commit=on -c standard_conforming_strings=on -c timezone=UTC',
      // Measured: our questions take a few milliseconds, to compile one or to start workers for it takes fifty.
      '-c jit=off -c max_parallel_workers_per_gather=0',
      settings,
    ].join(' '),
    types: {
      getTypeParser: ((oid: number) =>
        integers.has(oid)
          ? asText
          : (types.getTypeParser(oid) as (text: string) => unknown)) as typeof types.getTypeParser,
    },
  }
}

/** Says of which setting an error is. */
function named(error: unknown): unknown {
  if (error instanceof Error) error.message = `DATABASE_URL: ${errorWords(error)}`
  return error
}

/**
 * A standby takes no writes, and what it says may be old: while a failover is under way an address may lead to one, which
 * counts as a database that is away. A pooler in between may have dropped the settings.
 */
async function check(client: Asked, { idleInTransactionMs = idleMs }: Connecting): Promise<void> {
  const { rows } = await client.query(checkText)
  const [found] = rows as { standby: boolean; idle: number; durable: boolean; encoding: string }[]
  if (found?.standby === true) throw new Error('the server is a standby, which takes no writes')
  if (found && !unicode.has(found.encoding)) {
    const what = `the database is encoded as ${found.encoding}, which lacks most of what people write`
    throw new WrongServer(`${what}; make one with: create database … encoding 'UTF8' template template0`)
  }
  if (found?.idle !== idleInTransactionMs || !found.durable) {
    throw new WrongServer(
      'what is between this node and PostgreSQL drops the settings of the connection, as a pooler does; connect to PostgreSQL itself',
    )
  }
}

/** One connection of its own. Its loss is told to the query that is under way, and to nobody else. */
export async function openClient(connecting: Connecting): Promise<Client> {
  const client = clientOf(connecting)
  client.on('error', () => undefined)
  try {
    await client.connect()
    await check(client, connecting)
  } catch (error) {
    void client.end().catch(() => undefined)
    throw named(error)
  }
  return client
}

/** The files that the address names are read here. */
function clientOf(connecting: Connecting): Client {
  try {
    return new Client(configOf(connecting))
  } catch (error) {
    throw named(error)
  }
}

export function openPool(connecting: Connecting, most: number): Pool {
  const pool = new Pool({
    ...configOf(connecting),
    max: most,
    idleTimeoutMillis: 30_000,
    verify: (client, tell) => void check(client, connecting).then(() => tell(), tell),
  })
  // A connection that is lost while nobody uses it is opened anew when somebody does.
  pool.on('error', () => undefined)
  // Also one that is lost while it is lent, between two of its statements.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  return pool
}

/** The rows of a result with their integers read. */
export function rowsOf(result: QueryResult): Row[] {
  const rows = result.rows as Row[]
  const read = result.fields.filter(({ dataTypeID }) => integers.has(dataTypeID))
  if (read.length === 0) return rows
  for (const row of rows) {
    for (const { name } of read) {
      const text = row[name]
      if (typeof text === 'string') row[name] = name.endsWith('_nanos') ? BigInt(text) : Number(text)
    }
  }
  return rows
}

type Asked = Pick<Client, 'query'> | Pick<Pool, 'query'> | Pick<PoolClient, 'query'>

/** Runs one statement whose parameters are written `?`. */
export async function runOn(on: Asked, { sql, parameters }: Statement): Promise<StatementResult> {
  const values: Parameter[] = [...parameters]
  const result = await on.query(withNumbers(sql), values)
  return { rows: rowsOf(result), changes: result.rowCount ?? 0 }
}

/** Runs a text of one or more statements without parameters in one round trip: the rows of each. */
export async function runTexts(on: Asked, text: string): Promise<Row[][]> {
  const results = (await on.query(text)) as QueryResult | QueryResult[]
  return (Array.isArray(results) ? results : [results]).map(rowsOf)
}
