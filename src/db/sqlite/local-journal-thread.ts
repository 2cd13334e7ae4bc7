/** The thread that writes a node's local journal. */

import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import type {
  LocalJournalContents,
  LocalJournalRecord,
  LocalJournalRequest,
  LocalJournalResponse,
} from './local-journal-protocol.ts'
import { openWriter, type Connection } from './connection.ts'
import { toStoreFailure } from '../store-error.ts'
import { errorMessage } from '../../lib/error-message.ts'

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

function serve(parent: MessagePort, connection: Connection): void {
  const send = (reply: LocalJournalResponse): void => parent.postMessage(reply)
  let writes = 0
  parent.on('message', (request: LocalJournalRequest) => {
    if (request.kind === 'close') {
      connection.close()
      parent.close()
      return
    }
    try {
      writeAll(connection, request.lines)
      writes += 1
      if (writes % writesPerCheckpoint === 0)
        connection.run({ sql: 'pragma wal_checkpoint(passive)', parameters: [] })
      send({ kind: 'written' })
    } catch (error) {
      send({ kind: 'failed', failure: toStoreFailure(error) })
    }
  })
  send({ kind: 'opened', content: readContents(connection) })
}

if (parentPort !== null) {
  try {
    const connection = openWriter(String(workerData))
    connection.database.exec(schema)
    serve(parentPort, connection)
  } catch (error) {
    const message = errorMessage(error)
    parentPort.postMessage({ kind: 'openFailed', message } satisfies LocalJournalResponse)
    parentPort.close()
  }
}
