/** The ledger in a SQLite file: one chain, whose entries were written in its order. */
import { readOnlyDb, statementDb } from '../../db/db.ts'
import { readLedger } from '../../db/read-ledger.ts'
import { sql, type CheckpointsTable } from '../../db/schema/schema.ts'
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

const commitsText = `select seq, body, hex(prev || hash) as link from journal
  where seq > ? order by seq limit ${pageCommits}`

// Only the last two are kept.
const checkpointsText = 'select seq, holds from checkpoints where seq > ? and seq <= ?'

// There is no index by commit: the entries of a page end before the first one of a later commit.
const entriesText = `select json_group_array(json_array(${entryCellsSql})) as cells, max(id) as last, 0 as late, 0 as late_nanos
  from (select * from entries where id > ? and id < coalesce(
    (select id from entries where id > ? and seq > ? order by id limit 1), ${afterLastRow}) order by id)`

const billsText = `select json_group_array(json_array(${billCellsSql})) as cells, count(*) as found, 0 as late, 0 as late_nanos
  from json_each(?) as billed cross join requests on request_id = billed.value`

type CommitRow = Pick<StoredCommit, 'seq' | 'body' | 'link'>
type CheckpointRow = Pick<CheckpointsTable, 'seq' | 'holds'>

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
    const last = heads.get(null)?.number ?? 0
    const rows = await db.report<CommitRow>({ sql: commitsText, parameters: [last] })
    const commits = rows.map(({ seq, body, link }): StoredCommit => ({
      seq,
      node: null,
      number: seq,
      body,
      // SQLite's `lower` takes half as long as the rest of the query.
      link: link.toLowerCase(),
    }))
    const parameters = [last, commits.at(-1)?.seq ?? last]
    const checkpoints = await db.report<CheckpointRow>({ sql: checkpointsText, parameters })
    const holds = new Map(checkpoints.map(({ seq, holds: open }) => [seq, open]))
    return { commits, holds, isFull: commits.length === pageCommits }
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
