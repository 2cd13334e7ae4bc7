/** The thread that writes a node's local journal. */

import { parentPort, type MessagePort } from 'node:worker_threads'
import { Channel } from '../../rpc/channel.ts'
import { openWriter, type Connection } from './connection.ts'
import { storeErrors } from './port-db.ts'

export interface LocalMark {
  readonly id: string
  readonly input: number
  readonly output: number
}

/** A settlement that the database has not accepted yet; `body` is JSON of its owner. */
export interface LocalSettlement {
  readonly id: string
  readonly body: string
}

/** One record to write: a mark, a settlement, a fact, or an id whose records are no longer needed. */
export type LocalJournalRecord =
  | readonly ['mark', id: string, input: number, output: number]
  | readonly ['settle', id: string, body: string]
  | readonly ['forget', id: string]
  | readonly ['fact', name: string, value: string]

export interface LocalJournalContents {
  readonly facts: ReadonlyMap<string, string>
  readonly marks: readonly LocalMark[]
  readonly settlements: readonly LocalSettlement[]
}

export interface LocalJournalServices {
  readonly journal: {
    open(path: string): Promise<LocalJournalContents>
    /** Writes the records in one transaction; resolves when it is on disk. */
    write(records: readonly LocalJournalRecord[]): Promise<void>
    close(): void
  }
}

const schema = `
create table if not exists facts (name text primary key, value text not null) strict, without rowid;
create table if not exists marks (
  id text primary key, input integer not null, output integer not null
) strict, without rowid;
create table if not exists settlements (
  number integer primary key, id text not null unique, body text not null
) strict;
`

const statementsByKind: Record<LocalJournalRecord[0], string[]> = {
  fact: ['insert into facts values (?, ?) on conflict (name) do update set value = excluded.value'],
  mark: [
    'insert into marks values (?, ?, ?) on conflict (id) do update set input = excluded.input, output = excluded.output',
  ],
  settle: ['insert into settlements (id, body) values (?, ?) on conflict (id) do nothing'],
  forget: ['delete from marks where id = ?', 'delete from settlements where id = ?'],
}
/** Writes between two checkpoints of the WAL. */
const writesPerCheckpoint = 2000

function readContents(connection: Connection): LocalJournalContents {
  const rows = (text: string) => connection.run({ sql: text, parameters: [] }).rows
  return {
    facts: new Map(
      rows('select name, value from facts').map((row) => [String(row['name']), String(row['value'])]),
    ),
    marks: rows('select id, input, output from marks').map((row) => ({
      id: String(row['id']),
      input: Number(row['input']),
      output: Number(row['output']),
    })),
    settlements: rows('select id, body from settlements order by number').map((row) => ({
      id: String(row['id']),
      body: String(row['body']),
    })),
  }
}

function writeAll(connection: Connection, lines: readonly LocalJournalRecord[]): void {
  const exec = (text: string): unknown => connection.run({ sql: text, parameters: [] })
  exec('begin immediate')
  try {
    for (const [kind, ...parameters] of lines) {
      for (const sql of statementsByKind[kind]) connection.run({ sql, parameters })
    }
    exec('commit')
  } catch (error) {
    if (connection.database.isTransaction) exec('rollback')
    throw error
  }
}

function serve(port: MessagePort): void {
  const channel = new Channel(port, storeErrors)
  let connection: Connection | undefined
  let writes = 0
  const journal = {
    open(path: string): LocalJournalContents {
      try {
        connection = openWriter(path)
        connection.database.exec(schema)
        return readContents(connection)
      } catch (error) {
        void channel.finish()
        throw error
      }
    },
    write(records: readonly LocalJournalRecord[]): void {
      if (connection === undefined) throw storeErrors.closed()
      writeAll(connection, records)
      writes += 1
      if (writes % writesPerCheckpoint === 0)
        connection.run({ sql: 'pragma wal_checkpoint(passive)', parameters: [] })
    },
    close(): void {
      connection?.close()
      channel.close()
    },
  }
  channel.serve({ services: { journal } })
}

if (parentPort !== null) serve(parentPort)
