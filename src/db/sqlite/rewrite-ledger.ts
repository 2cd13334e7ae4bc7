import { appendOnlyTriggers, createRewriter, type LedgerRewriter } from '../ledger-rewriter.ts'
import { connectionDb, openWriter, type Connection } from './connection.ts'

function rewriterOn(connection: Connection): LedgerRewriter {
  const db = connectionDb(connection)
  return createRewriter(db, (commits) => {
    const text = 'update journal set prev = ?, hash = ? where seq = ?'
    return db.write(...commits.map(({ seq, prev, hash }) => ({ sql: text, parameters: [prev, hash, seq] })))
  })
}

/** Drops the triggers and returns the statements that create them again. */
function dropTriggers({ database }: Connection): string[] {
  return appendOnlyTriggers.map(({ trigger }) => {
    const row = database.prepare('select sql from sqlite_schema where name = ?').get(trigger)
    database.exec(`drop trigger ${trigger}`)
    return String(row?.['sql'])
  })
}

/** Commits if `work` resolves, and changes nothing if it rejects. The caller has locked the data directory. */
export async function rewriteSqliteLedger<Result>(
  path: string,
  work: (rewriter: LedgerRewriter) => Promise<Result>,
): Promise<Result> {
  // Its disposal rolls an open transaction back.
  using connection = openWriter(path)
  const { database } = connection
  database.exec('begin immediate')
  const creations = dropTriggers(connection)
  const result = await work(rewriterOn(connection))
  for (const creation of creations) database.exec(creation)
  database.exec('commit; pragma wal_checkpoint(truncate)')
  return result
}
