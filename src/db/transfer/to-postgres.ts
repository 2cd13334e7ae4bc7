/**
 * The rows of a SQLite file into an empty PostgreSQL, page by page. Each page is a transaction that also marks how far
 * its table has come, so that one who was killed goes on where he stood. Until the last step is done the table of these
 * marks is there, and no node starts over it.
 */

import type { Client } from 'pg'
import { checkSchema, runMigrations } from '../postgres/migrate.ts'
import { openClient, runOn, runTexts } from '../postgres/connection.ts'
import { tryMigrationLock, writeLock } from '../postgres/advisory-locks.ts'
import { literalOf, valuesText } from '../postgres/sql-text.ts'
import { migrations } from '../migrations/0001-initial-schema.ts'
import type { Row } from '../messages.ts'
import { notingMoved, type MovedTo } from './move-marker.ts'
import { cellsOf, readPage, type Key, type Read, type TableShape } from './tables.ts'

const statementMs = 600_000

/** What a node makes at its start, beside what a move brings. */
const nodesOwn = ['holds', 'nodes']
/** The schema begins with three tiers; those of the source take their place. */
const seeded: ReadonlySet<string> = new Set(['tiers'])

/** The target cannot take what was to be moved there: these words say why. */
export class TargetError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'TargetError'
  }
}

/** Among the marks of tables the one that says which move it is, before there is a schema to say it. */
const beginning = ''

interface Mark {
  readonly after: Key
  readonly rows: number
}

async function single(client: Client, text: string): Promise<string | undefined> {
  const [rows = []] = await runTexts(client, text)
  const [value] = Object.values(rows[0] ?? {})
  return value === undefined || value === null ? undefined : String(value)
}

export class PostgresSide {
  readonly #client: Client
  #epochs: string | undefined

  private constructor(client: Client) {
    this.#client = client
  }

  /** Opens it for one mover; a node that starts meanwhile waits. Throws TargetError where somebody else is at it. */
  static async open(url: string): Promise<PostgresSide> {
    const client = await openClient({ url, name: 'sluice move', statementMs })
    const target = new PostgresSide(client)
    try {
      if ((await single(client, tryMigrationLock)) !== 'true')
        throw new TargetError(
          'Another process brings this PostgreSQL up to date, or moves something into it.',
        )
      return target
    } catch (error) {
      await target.close()
      throw error
    }
  }

  readonly read: Read = async (statement) => (await runOn(this.#client, statement)).rows

  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined)
  }

  /** Throws TargetError where a node has not been stopped as it should be, or been given up, or has joined since the first look. */
  async checkStopped(): Promise<void> {
    const running = await single(this.#client, `select min(id) from nodes where state = 'running'`)
    if (running !== undefined)
      throw new TargetError(
        `Node ${running} runs, or was not stopped cleanly: stop it, or start and stop it once more, or give it up with \`sluice node retire\` at another node, first.`,
      )
    const epochs = await single(this.#client, 'select coalesce(sum(epoch), 0) from nodes')
    this.#epochs ??= epochs
    if (this.#epochs !== epochs)
      throw new TargetError('A node has joined this PostgreSQL meanwhile: run the same command again.')
  }

  /** Where everything in it is now. */
  async movedTo(): Promise<MovedTo | undefined> {
    if ((await single(this.#client, `select to_regclass('settings')`)) === undefined)
      throw new TargetError('There is nothing in this PostgreSQL to be moved.')
    const value = await single(this.#client, `select value from settings where name = 'moved_to'`)
    return value === undefined ? undefined : (JSON.parse(value) as MovedTo)
  }

  /** From here on no node joins. Throws TargetError where one has joined meanwhile: what it wrote is not in the copy. */
  async noteMoved(moved: MovedTo): Promise<void> {
    await this.#client.query('begin')
    await this.#client.query(writeLock)
    await this.checkStopped()
    await runOn(this.#client, notingMoved(moved))
    await this.#client.query('commit')
  }

  /** Whose rows are in it, or on their way; undefined when nothing was ever moved into it. */
  async origin(): Promise<{ readonly id: string; readonly isWhole: boolean } | undefined> {
    const isWhole = !(await this.#has('moving'))
    const begun = isWhole
      ? undefined
      : await single(this.#client, `select after from moving where name = '${beginning}'`)
    const id = begun ?? (await this.#filledFrom())
    return id === undefined ? undefined : { id, isWhole }
  }

  async #has(table: string): Promise<boolean> {
    return (await single(this.#client, `select to_regclass('${table}')`)) !== undefined
  }

  /** Whose rows are in the schema; undefined before it is made for them. */
  async #filledFrom(): Promise<string | undefined> {
    if (!(await this.#has('settings'))) return undefined
    return single(this.#client, `select value from settings where name = 'moved_from'`)
  }

  async #checkEmpty(tables: readonly TableShape[]): Promise<void> {
    const names = [...tables.map(({ name }) => name), ...nodesOwn].filter((name) => !seeded.has(name))
    const [there = []] = await runTexts(
      this.#client,
      'select tablename from pg_catalog.pg_tables where schemaname = current_schema()',
    )
    const known = new Set(there.map((row) => String(row['tablename'])))
    const found = names
      .filter((name) => known.has(name))
      .map((name) => `select '${name}' as name where exists (select 1 from ${name})`)
    if (found.length === 0) return
    const [rows = []] = await runTexts(this.#client, found.join(' union all '))
    if (rows.length === 0) return
    const running = known.has('nodes')
      ? await single(this.#client, `select min(id) from nodes where state = 'running'`)
      : undefined
    const who = running === undefined ? '' : ` Node ${running} runs on it.`
    const what = rows.map((row) => String(row['name'])).join(', ')
    throw new TargetError(
      `The target is not empty (${what}): everything is moved into an empty database.${who}`,
    )
  }

  /**
   * From here on no node starts over it, until `finish`, nor joins that is about to. `note` says the same of the source: when
   * it does not come to that the target is as it was. Throws TargetError where anything is there already.
   */
  async begin(id: string, tables: readonly TableShape[], note: () => void): Promise<void> {
    await checkSchema(this.#client, migrations)
    await this.#client.query(`begin; ${writeLock}`)
    await this.#checkEmpty(tables)
    await this.#client.query(
      `create table moving (name text collate "C" primary key, after text not null, rows bigint not null);
      insert into moving values ('${beginning}', ${literalOf(id)}, 0)`,
    )
    note()
    await this.#client.query('commit')
  }

  /** Makes the schema for what `id` brings, or what is missing of it. Throws TargetError where another release has filled it. */
  async makeSchema(id: string): Promise<void> {
    if ((await this.#filledFrom()) !== undefined) return this.#checkRelease()
    await runMigrations(this.#client, migrations)
    await this.#client.query(
      `begin; ${[...seeded].map((name) => `delete from ${name}`).join(';')};
      insert into settings (name, value) values ('moved_from', ${literalOf(id)}); commit`,
    )
  }

  async #checkRelease(): Promise<void> {
    const version = Number(await single(this.#client, 'select max(version) from schema_version'))
    if (version !== migrations.at(-1)?.version)
      throw new TargetError('Another release of Sluice began this move: finish it with that one.')
  }

  /** Brings what is missing of a table. `tell`: how many rows are there with each page, those of before first. */
  async take(read: Read, table: TableShape, tell: (rows: number) => void): Promise<void> {
    const mark = `select after, rows from moving where name = ${literalOf(table.name)}`
    const [[found] = []] = await runTexts(this.#client, mark)
    let after = found === undefined ? null : (JSON.parse(String(found['after'])) as Key)
    let rows = Number(found?.['rows'] ?? 0)
    tell(rows)
    for (;;) {
      const page = await readPage(read, table, after)
      if (page.key === null) return
      rows += page.rows.length
      after = page.key
      await this.#client.query(pageText(table, page.rows, { after, rows }))
      tell(page.rows.length)
    }
  }

  /** Everything is there and was compared: numbers go on where the source's ended, and nodes may start. */
  async finish(
    numbers: ReadonlyMap<string, number>,
    settings: Readonly<Record<string, string>>,
  ): Promise<void> {
    const texts = await numberTexts(this.read, numbers)
    const pairs = Object.entries(settings).map((pair) => pair.map(literalOf))
    await this.#client.query(
      [
        'begin',
        ...texts,
        ...(pairs.length === 0
          ? []
          : [
              `insert into settings (name, value) values ${pairs.map((pair) => `(${pair.join(', ')})`).join(', ')}`,
            ]),
        'drop table moving',
        'commit',
      ].join(';'),
    )
    await this.#client.query('analyze')
  }
}

/** One page and the mark behind it, in one transaction. The journal of one node is the chain of a node without a name. */
function pageText({ name, columns }: TableShape, rows: readonly Row[], mark: Mark): string {
  const names = name === 'journal' ? [...columns, 'number'] : columns
  const from = name === 'journal' ? [...columns, 'seq'] : columns
  const place = [name, JSON.stringify(mark.after), mark.rows].map(literalOf).join(', ')
  return `begin;
    insert into ${name} (${names.join(', ')}) values ${valuesText(cellsOf(rows, from))};
    insert into moving (name, after, rows) values (${place})
      on conflict (name) do update set after = excluded.after, rows = excluded.rows;
    commit`
}

/** What makes numbers of rows go on after those that are there, or after these where they are higher. */
export async function numberTexts(read: Read, numbers: ReadonlyMap<string, number>): Promise<string[]> {
  const identities = await read({
    sql: `select table_name, column_name from information_schema.columns
      where table_schema = current_schema() and is_identity = 'YES'`,
    parameters: [],
  })
  const texts = identities.map((row) => {
    const [table, column] = [String(row['table_name']), String(row['column_name'])]
    const last = `greatest((select max(${column}) from ${table}), ${numbers.get(table) ?? 0})`
    return `select setval(pg_get_serial_sequence('${table}', '${column}'), greatest(${last}, 1), ${last} > 0)`
  })
  const order = `(select coalesce(max(seq), 0) from journal)`
  return [...texts, `select setval('journal_order', greatest(${order}, 1), ${order} > 0)`]
}
