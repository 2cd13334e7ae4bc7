/**
 * Connections and connection pools to PostgreSQL. Results are parsed as the schema says: `_nanos` as bigint, every other
 * integer as number, bytea as bytes.
 */

import { Client, Pool, types, type ClientConfig, type PoolClient, type QueryResult } from 'pg'
import { isMoneyColumn } from '../money-columns.ts'
import type { Parameter, Row, Statement, StatementResult } from '../statement.ts'
import { postgresErrorMessage, UnusableServerError } from './errors.ts'
import { numberParameters } from './sql-text.ts'

/** int8, int2, int4, numeric: the column's name, not the width, decides between bigint and number. */
const integerTypes: ReadonlySet<number> = new Set([20, 21, 23, 1700])
const asText = (text: string): string => text
/** A node without network must not block others with its row locks. */
const idleTimeoutMs = 10_000
const connectTimeoutMs = 3000
/** SQL_ASCII stores bytes unchanged. */
const supportedEncodings: ReadonlySet<string> = new Set(['UTF8', 'SQL_ASCII'])
const checkText = `select pg_is_in_recovery() as standby, current_setting('synchronous_commit') = 'on' as durable,
  current_setting('server_encoding') as encoding,
  extract(epoch from current_setting('idle_in_transaction_session_timeout')::interval)::float8 * 1000 as idle`

export interface ConnectionOptions {
  readonly url: string
  /** Shown in `pg_stat_activity`. */
  readonly name: string
  /** Longer statements are cancelled. */
  readonly statementMs: number
  readonly readOnly?: boolean
  /** A transaction that is idle for longer is ended. */
  readonly idleInTransactionMs?: number
  /** Additional settings, as command-line options. */
  readonly settings?: string
}

/** Splits `options` off a connection URL, where they would replace all of ours. */
function splitOptions(url: string): readonly [address: string, options: string] {
  const address = URL.canParse(url) ? new URL(url) : null
  const options = address?.searchParams.get('options') ?? ''
  if (address === null || options === '') return [url, '']
  address.searchParams.delete('options')
  return [address.href, options]
}

/** The settings that our guarantees depend on, whatever the server's defaults or an operator's options are. */
function clientConfig(options: ConnectionOptions): ClientConfig {
  const {
    url,
    name,
    statementMs,
    readOnly = false,
    idleInTransactionMs = idleTimeoutMs,
    settings = '',
  } = options
  const [address, asked] = splitOptions(url)
  return {
    connectionString: address,
    application_name: name,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: statementMs,
    // A network that drops everything must not block longer than the server's own timeout.
    query_timeout: statementMs + 1000,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    options: [
      asked,
      '-c default_transaction_isolation=read\\ committed',
      `-c default_transaction_read_only=${readOnly ? 'on' : 'off'}`,
      '-c synchronous_commit=on -c standard_conforming_strings=on -c timezone=UTC',
      // Measured: our queries take a few milliseconds; JIT compilation or parallel workers add fifty.
      '-c jit=off -c max_parallel_workers_per_gather=0',
      settings,
    ].join(' '),
    types: {
      getTypeParser: ((oid: number) =>
        integerTypes.has(oid)
          ? asText
          : (types.getTypeParser(oid) as (text: string) => unknown)) as typeof types.getTypeParser,
    },
  }
}

/** Adds the setting's name to an error. */
function withSettingName(error: unknown): unknown {
  if (error instanceof Error) error.message = `DATABASE_URL: ${postgresErrorMessage(error)}`
  return error
}

/**
 * Verifies the server. A standby rejects writes and may be stale; during a failover the address may lead to one, which
 * counts as an unavailable database. A pooler in between may have dropped the settings.
 */
async function checkServer(
  client: Queryable,
  { idleInTransactionMs = idleTimeoutMs }: ConnectionOptions,
): Promise<void> {
  const { rows } = await client.query(checkText)
  const [found] = rows as { standby: boolean; idle: number; durable: boolean; encoding: string }[]
  if (found?.standby === true) throw new Error('the server is a standby, which does not accept writes')
  if (found && !supportedEncodings.has(found.encoding)) {
    const what = `the database is encoded as ${found.encoding}, which cannot store all text`
    throw new UnusableServerError(
      `${what}; create one with: create database … encoding 'UTF8' template template0`,
    )
  }
  if (found?.idle !== idleInTransactionMs || !found.durable) {
    throw new UnusableServerError(
      'a pooler between this node and PostgreSQL drops the settings of the connection; connect to PostgreSQL directly',
    )
  }
}

/** Opens a single connection. If it is lost, only the running query fails. */
export async function openClient(options: ConnectionOptions): Promise<Client> {
  const client = createClient(options)
  client.on('error', () => undefined)
  try {
    await client.connect()
    await checkServer(client, options)
  } catch (error) {
    void client.end().catch(() => undefined)
    throw withSettingName(error)
  }
  return client
}

/** Creates the client; this reads the files named in the URL. */
function createClient(options: ConnectionOptions): Client {
  try {
    return new Client(clientConfig(options))
  } catch (error) {
    throw withSettingName(error)
  }
}

export function openPool(options: ConnectionOptions, maxConnections: number): Pool {
  const pool = new Pool({
    ...clientConfig(options),
    max: maxConnections,
    idleTimeoutMillis: 30_000,
    verify: (client, onVerified) => void checkServer(client, options).then(() => onVerified(), onVerified),
  })
  // A lost idle connection is reopened at the next use.
  pool.on('error', () => undefined)
  // Also handles a checked-out connection that is lost between two statements.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  return pool
}

/** Returns the rows of a result with parsed integers. */
export function parseRows(result: QueryResult): Row[] {
  const rows = result.rows as Row[]
  const read = result.fields.filter(({ dataTypeID }) => integerTypes.has(dataTypeID))
  if (read.length === 0) return rows
  for (const row of rows) {
    for (const { name } of read) {
      const text = row[name]
      if (typeof text === 'string') row[name] = isMoneyColumn(name) ? BigInt(text) : Number(text)
    }
  }
  return rows
}

type Queryable = Pick<Client, 'query'> | Pick<Pool, 'query'> | Pick<PoolClient, 'query'>

/** Runs one statement with `?` placeholders. */
export async function runStatement(on: Queryable, { sql, parameters }: Statement): Promise<StatementResult> {
  const values: Parameter[] = [...parameters]
  const result = await on.query(numberParameters(sql), values)
  return { rows: parseRows(result), changes: result.rowCount ?? 0 }
}

/** The first value of a query's only row as text; undefined without a row, or if it is null. */
export async function queryValue(on: Queryable, text: string): Promise<string | undefined> {
  const [[row = {}] = []] = await runScript(on, text)
  const [value] = Object.values(row)
  return value === undefined || value === null ? undefined : String(value)
}

/** Runs one or more statements without parameters in one round trip, and returns the rows of each. */
export async function runScript(on: Queryable, text: string): Promise<Row[][]> {
  const results = (await on.query(text)) as QueryResult | QueryResult[]
  return (Array.isArray(results) ? results : [results]).map(parseRows)
}

/** Runs a script over a connection of its own, and returns the rows of its first statement. */
export async function runScriptOnce(options: ConnectionOptions, text: string): Promise<Row[]> {
  const client = await openClient(options)
  try {
    const [rows = []] = await runScript(client, text)
    return rows
  } finally {
    await client.end()
  }
}
