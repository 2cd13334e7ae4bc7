/** Commits one row after the other to a database and prints each row's number once it is durable. */
import { writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const [, , path = '', synchronous = 'full'] = process.argv
const database = new DatabaseSync(path)
database.exec(`pragma journal_mode = wal; pragma synchronous = ${synchronous}`)
database.exec('create table if not exists numbers (number integer primary key, padding text)')
const insert = database.prepare('insert into numbers (padding) values (?)')
const padding = 'x'.repeat(200)
for (;;) writeSync(1, `${insert.run(padding).lastInsertRowid}\n`)
