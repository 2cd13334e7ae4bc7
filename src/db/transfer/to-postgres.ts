/**
 * Copies the rows of a SQLite file into an empty PostgreSQL, page by page. Each page is a transaction that also records
 * the progress of its table, so that an interrupted copy can resume. Until the last step is done, the table of this
 * progress exists, and no node starts on the database.
 */

import type { Client } from 'pg'
import { checkSchema, runMigrations } from '../postgres/migrate.ts'
import { openClient, queryValue, runStatement, runScript } from '../postgres/connection.ts'
import { findRunningNode } from '../postgres/nodes.ts'
import { tryMigrationLock, writeLock } from '../postgres/advisory-locks.ts'
import { quoteLiteral, formatValues } from '../postgres/sql-text.ts'
import { migrations } from '../migrations/migrations.ts'
import type { Row } from '../statement.ts'
import { moveMarkerStatement, type MoveMarker } from './move-marker.ts'
import { toCells, readPages, type RowKey, type ReadRows, type TableShape } from './tables.ts'

const statementTimeoutMs = 600_000

/** Tables that nodes fill themselves; a move does not copy them. */
const nodeTables = ['holds', 'nodes']
/** The schema is created with three tiers, which the source's tiers replace. */
const seededTables: ReadonlySet<string> = new Set(['tiers'])

/** The target cannot be used for the move; the message is meant for operators. */
export class TransferTargetError extends Error {
  override readonly name = 'TransferTargetError'
}

/** The name of the progress row that holds the id of the move, before the schema exists. */
const moveIdMark = ''

interface TableProgress {
  readonly after: RowKey
  readonly rows: number
}

export class PostgresTransfer implements AsyncDisposable {
  readonly #client: Client
  #epochs: string | undefined

  private constructor(client: Client) {
    this.#client = client
  }

  /** Opens the database for one move; nodes that start meanwhile wait. Throws TransferTargetError if it is locked. */
  static async open(url: string): Promise<PostgresTransfer> {
    const client = await openClient({ url, name: 'sluice move', statementMs: statementTimeoutMs })
    const target = new PostgresTransfer(client)
    try {
      if ((await queryValue(client, tryMigrationLock)) !== 'true')
        throw new TransferTargetError(
          'Another process migrates this PostgreSQL database, or moves data into it.',
        )
      return target
    } catch (error) {
      await target.close()
      throw error
    }
  }

  readonly read: ReadRows = async (statement) => (await runStatement(this.#client, statement)).rows

  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined)
  }

  [Symbol.asyncDispose] = (): Promise<void> => this.close()

  /** Throws TransferTargetError if a node was neither stopped cleanly nor retired, or has joined since the first check. */
  async checkStopped(): Promise<void> {
    const running = await findRunningNode(this.#client)
    if (running !== undefined) throw new TransferTargetError(running)
    const epochs = await queryValue(this.#client, 'select coalesce(sum(epoch), 0) from nodes')
    this.#epochs ??= epochs
    if (this.#epochs !== epochs)
      throw new TransferTargetError(
        'A node has joined this PostgreSQL database in the meantime: run the same command again.',
      )
  }

  /** Reads where the database was moved to, if it was. */
  async readMoveMarker(): Promise<MoveMarker | undefined> {
    if ((await queryValue(this.#client, `select to_regclass('settings')`)) === undefined)
      throw new TransferTargetError('This PostgreSQL database contains nothing to move.')
    const value = await queryValue(this.#client, `select value from settings where name = 'moved_to'`)
    return value === undefined ? undefined : (JSON.parse(value) as MoveMarker)
  }

  /** After this no node can join. Throws TransferTargetError if one has joined meanwhile, because the copy lacks its writes. */
  async writeMoveMarker(moved: MoveMarker): Promise<void> {
    await this.#client.query('begin')
    await this.#client.query(writeLock)
    await this.checkStopped()
    await runStatement(this.#client, moveMarkerStatement(moved))
    await this.#client.query('commit')
  }

  /** Returns the move that filled, or is filling, this database; undefined if there was none. */
  async readOrigin(): Promise<{ readonly id: string; readonly isWhole: boolean } | undefined> {
    const isWhole = !(await this.#hasTable('moving'))
    const begun = isWhole
      ? undefined
      : await queryValue(this.#client, `select after from moving where name = '${moveIdMark}'`)
    const id = begun ?? (await this.#readSourceId())
    return id === undefined ? undefined : { id, isWhole }
  }

  async #hasTable(table: string): Promise<boolean> {
    return (await queryValue(this.#client, `select to_regclass('${table}')`)) !== undefined
  }

  /** Returns the id of the move that filled the schema; undefined before the schema exists. */
  async #readSourceId(): Promise<string | undefined> {
    if (!(await this.#hasTable('settings'))) return undefined
    return queryValue(this.#client, `select value from settings where name = 'moved_from'`)
  }

  async #checkEmpty(tables: readonly TableShape[]): Promise<void> {
    const names = [...tables.map(({ name }) => name), ...nodeTables].filter((name) => !seededTables.has(name))
    const [existing = []] = await runScript(
      this.#client,
      'select tablename from pg_catalog.pg_tables where schemaname = current_schema()',
    )
    const known = new Set(existing.map((row) => String(row['tablename'])))
    const found = names
      .filter((name) => known.has(name))
      .map((name) => `select '${name}' as name where exists (select 1 from ${name})`)
    if (found.length === 0) return
    const [rows = []] = await runScript(this.#client, found.join(' union all '))
    if (rows.length === 0) return
    const running = known.has('nodes')
      ? await queryValue(this.#client, `select min(id) from nodes where state = 'running'`)
      : undefined
    const who = running === undefined ? '' : ` Node ${running} runs on it.`
    const what = rows.map((row) => String(row['name'])).join(', ')
    throw new TransferTargetError(
      `The target is not empty (${what}): data can be moved only into an empty database.${who}`,
    )
  }

  /**
   * Begins the move: until `finish`, no node can start on the database or join. `note` marks the source; if it fails, the
   * target is unchanged. Throws TransferTargetError if the database is not empty.
   */
  async begin(id: string, tables: readonly TableShape[], note: () => void): Promise<void> {
    await checkSchema(this.#client, migrations)
    await this.#client.query(`begin; ${writeLock}`)
    await this.#checkEmpty(tables)
    await this.#client.query(
      `create table moving (name text collate "C" primary key, after text not null, rows bigint not null);
      insert into moving values ('${moveIdMark}', ${quoteLiteral(id)}, 0)`,
    )
    note()
    await this.#client.query('commit')
  }

  /** Creates or completes the schema for the move `id`. Throws TransferTargetError if another release began the move. */
  async createSchema(id: string): Promise<void> {
    if ((await this.#readSourceId()) !== undefined) return this.#checkRelease()
    await runMigrations(this.#client, migrations)
    await this.#client.query(
      `begin; ${[...seededTables].map((name) => `delete from ${name}`).join(';')};
      insert into settings (name, value) values ('moved_from', ${quoteLiteral(id)}); commit`,
    )
  }

  async #checkRelease(): Promise<void> {
    const version = Number(await queryValue(this.#client, 'select max(version) from schema_version'))
    if (version !== migrations.at(-1)?.version)
      throw new TransferTargetError('Another release of Sluice began this move: finish it with that one.')
  }

  /** Copies the missing rows of a table. `onRows`: called with the number of rows of each page, first with those copied before. */
  async copyTable(read: ReadRows, table: TableShape, onRows: (rows: number) => void): Promise<void> {
    const mark = `select after, rows from moving where name = ${quoteLiteral(table.name)}`
    const [[found] = []] = await runScript(this.#client, mark)
    let rows = Number(found?.['rows'] ?? 0)
    onRows(rows)
    const from = found === undefined ? null : (JSON.parse(String(found['after'])) as RowKey)
    for await (const page of readPages(read, table, from)) {
      rows += page.rows.length
      await this.#client.query(pageSql(table, page.rows, { after: page.key, rows }))
      onRows(page.rows.length)
    }
  }

  /** Completes the move after verification: continues the source's id sequences, and lets nodes start. */
  async finish(
    numbers: ReadonlyMap<string, number>,
    settings: Readonly<Record<string, string>>,
  ): Promise<void> {
    const statements = await sequenceSql(this.read, numbers)
    const pairs = Object.entries(settings).map((pair) => pair.map(quoteLiteral))
    if (pairs.length > 0)
      statements.push(
        `insert into settings (name, value) values ${pairs.map((pair) => `(${pair.join(', ')})`).join(', ')}`,
      )
    await this.#client.query(['begin', ...statements, 'drop table moving', 'commit'].join(';'))
    await this.#client.query('analyze')
  }
}

/** Writes one page and its progress in one transaction. The journal of a single relay becomes the chain of a node without a name. */
function pageSql({ name, columns }: TableShape, rows: readonly Row[], mark: TableProgress): string {
  const names = name === 'journal' ? [...columns, 'number'] : columns
  const from = name === 'journal' ? [...columns, 'seq'] : columns
  const place = [name, JSON.stringify(mark.after), mark.rows].map(quoteLiteral).join(', ')
  return `begin;
    insert into ${name} (${names.join(', ')}) values ${formatValues(toCells(rows, from))};
    insert into moving (name, after, rows) values (${place})
      on conflict (name) do update set after = excluded.after, rows = excluded.rows;
    commit`
}

/** Returns the SQL that continues id sequences after the existing rows, or after `numbers` if they are higher. */
export async function sequenceSql(read: ReadRows, numbers: ReadonlyMap<string, number>): Promise<string[]> {
  const identities = await read({
    sql: `select table_name, column_name from information_schema.columns
      where table_schema = current_schema() and is_identity = 'YES'`,
    parameters: [],
  })
  const statements = identities.map((row) => {
    const [table, column] = [String(row['table_name']), String(row['column_name'])]
    const last = `greatest((select max(${column}) from ${table}), ${numbers.get(table) ?? 0})`
    return `select setval(pg_get_serial_sequence('${table}', '${column}'), greatest(${last}, 1), ${last} > 0)`
  })
  const lastSeq = `(select coalesce(max(seq), 0) from journal)`
  return [...statements, `select setval('journal_order', greatest(${lastSeq}, 1), ${lastSeq} > 0)`]
}
