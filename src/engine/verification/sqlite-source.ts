/** The ledger in a SQLite file: one chain, whose entries were written in its order. */
import { readOnlyDb, statementDb } from '../../db/db.ts'
import { readLedger } from '../../db/read-ledger.ts'
import { sql } from '../../db/schema/schema.ts'
import { checkBackup } from '../../db/sqlite/backup-file.ts'
import { cacheKiB, openReader } from '../../db/sqlite/connection.ts'
import { recoverState } from '../sqlite/recovery.ts'
import {
  afterLastRow,
  billCellsSql,
  entryCellsSql,
  readLastIds,
  type ChainHead,
  type LedgerSource,
  type SnapshotConnection,
  type StoredCommit,
} from './ledger-source.ts'
import { verifyLedger } from './replay.ts'

const pageCommits = 500

/** Snapshots that are independent of concurrent writes. */
export function openSqliteSnapshots(path: string): SnapshotConnection {
  const connection = openReader(path, cacheKiB.readOnce)
  const db = readOnlyDb(statementDb(async (statement) => connection.run(statement)))
  return {
    async read(read) {
      connection.database.exec('begin')
      try {
        return await read(db)
      } finally {
        connection.database.exec('rollback')
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(connection.close()),
  }
}

const commitsText = `select seq, null as node, seq as number, body, lower(hex(prev)) as prev, lower(hex(hash)) as hash,
    (select holds from checkpoints where checkpoints.seq = journal.seq) as holds
  from journal where seq > ? order by seq limit ${pageCommits}`

// There is no index by commit: the entries of a page end before the first one of a later commit.
const entriesText = `select json_group_array(json_array(${entryCellsSql})) as cells, max(id) as last, 0 as late, 0 as late_nanos
  from (select * from entries where id > ? and id < coalesce(
    (select id from entries where id > ? and seq > ? order by id limit 1), ${afterLastRow}) order by id)`

const billsText = `select json_group_array(json_array(${billCellsSql})) as cells, count(*) as found, 0 as late, 0 as late_nanos
  from json_each(?) as billed cross join requests on request_id = billed.value`

export const sqliteSource: LedgerSource = {
  deletesInOrder: true,
  readPresent: async (db) => recoverState(db, await readLedger(db)),
  async readHeads(db) {
    const text = 'select seq as number, lower(hex(hash)) as hash from journal order by seq desc limit 1'
    const heads = await db.report<ChainHead>({ sql: text, parameters: [] })
    return new Map(heads.map((head) => [null, head]))
  },
  // There is no failover: if a commit is gone, what followed from it must be found to differ.
  containsHeads: () => Promise.resolve(true),
  readSettledMarks: (read) => read(readLastIds),
  async readCommits(db, heads) {
    const parameters = [heads.get(null)?.number ?? 0]
    const commits = await db.report<StoredCommit>({ sql: commitsText, parameters })
    return { commits, isFull: commits.length === pageCommits }
  },
  selectRows: (seqs, ids, { lastEntry }) => ({
    entries: { sql: entriesText, parameters: [lastEntry, lastEntry, seqs.at(-1) ?? 0] },
    bills: { sql: billsText, parameters: [JSON.stringify(ids)] },
  }),
  readState: async (db) => ({ owners: await db.report(sql.selectFrom('owners').selectAll()), holds: null }),
}

/** Reads a whole database file: it must be intact, ours, of a known schema, and its ledger consistent. Throws an error that says what is wrong. */
export async function checkDatabase(path: string) {
  const { schemaVersion, lastSeq, accounts } = checkBackup(path)
  await using snapshots = openSqliteSnapshots(path)
  const { ok, entries, findings } = await snapshots.read((db) => verifyLedger(sqliteSource, db))
  if (!ok) throw new Error(`The ledger in ${path} is inconsistent: ${findings.join('; ')}.`)
  return { schema_version: schemaVersion, last_commit: lastSeq, accounts, entries }
}
