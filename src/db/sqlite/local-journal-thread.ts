/** The thread that writes a node's local journal. */

import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import type { LocalContent, LocalLine, LocalOrder, LocalReply } from './local-journal-protocol.ts'
import { openWriter, type Connection } from './connection.ts'
import { failureOf } from '../store-error.ts'
import { errorWords } from '../../lib/error-message.ts'

const schema = `
create table if not exists facts (name text primary key, value text not null) strict, without rowid;
create table if not exists marks (
  id text primary key, input integer not null, output integer not null
) strict, without rowid;
create table if not exists settlements (
  number integer primary key, id text not null unique, body text not null
) strict;
`

const texts: Record<LocalLine[0], string[]> = {
  fact: ['insert into facts values (?, ?) on conflict (name) do update set value = excluded.value'],
  mark: [
    'insert into marks values (?, ?, ?) on conflict (id) do update set input = excluded.input, output = excluded.output',
  ],
  settle: ['insert into settlements (id, body) values (?, ?) on conflict (id) do nothing'],
  forget: ['delete from marks where id = ?', 'delete from settlements where id = ?'],
}
/** The WAL is copied into the file after so many writes. */
const writesPerCheckpoint = 2000

function contentOf(connection: Connection): LocalContent {
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

function writeAll(connection: Connection, lines: readonly LocalLine[]): void {
  const exec = (text: string): unknown => connection.run({ sql: text, parameters: [] })
  exec('begin immediate')
  try {
    for (const [kind, ...parameters] of lines) {
      for (const sql of texts[kind]) connection.run({ sql, parameters })
    }
    exec('commit')
  } catch (error) {
    if (connection.database.isTransaction) exec('rollback')
    throw error
  }
}

function serve(parent: MessagePort, connection: Connection): void {
  const tell = (reply: LocalReply): void => parent.postMessage(reply)
  let writes = 0
  parent.on('message', (order: LocalOrder) => {
    if (order.kind === 'close') {
      connection.close()
      parent.close()
      return
    }
    try {
      writeAll(connection, order.lines)
      writes += 1
      if (writes % writesPerCheckpoint === 0)
        connection.run({ sql: 'pragma wal_checkpoint(passive)', parameters: [] })
      tell({ kind: 'written' })
    } catch (error) {
      tell({ kind: 'failed', failure: failureOf(error) })
    }
  })
  tell({ kind: 'content', content: contentOf(connection) })
}

if (parentPort !== null) {
  try {
    const connection = openWriter(String(workerData))
    connection.database.exec(schema)
    serve(parentPort, connection)
  } catch (error) {
    const message = errorWords(error)
    parentPort.postMessage({ kind: 'refused', message } satisfies LocalReply)
    parentPort.close()
  }
}
