/**
 * Everything in a data directory into an empty PostgreSQL, from which nodes start as if they had always been there. The
 * relay is stopped; its ledger is settled and recomputed first, then rows are carried over, read back from both sides and
 * compared, and the ledger is recomputed over there. Killed at any moment, the same command goes on.
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import type { Db } from '../../db/db.ts'
import { databaseFileName } from '../../db/store.ts'
import { PostgresSide, TargetError } from '../../db/transfer/to-postgres.ts'
import { movedTo, noteMoved, type MovedTo } from '../../db/transfer/move-marker.ts'
import { countRows, tablesOf, type Read } from '../../db/transfer/tables.ts'
import { newId } from '../../lib/ids.ts'
import { keyFileSecret } from '../../lib/encryption.ts'
import { verifyClusterInThread } from '../cluster/verify-thread.ts'
import { nobody, openEmbeddedCore } from '../core.ts'
import { verifyInThread } from '../verify-thread.ts'
import { Progress, withBar, type Say } from './progress.ts'
import { compareTables, MoveError, reading, type Moved } from './sides.ts'

/** As a start would: the schema of this release, and nothing held any more. Throws where the ledger does not hold. */
async function settle(config: Config, path: string): Promise<void> {
  const core = await openEmbeddedCore({ ...config, requestsKeptMs: 0 }, nobody)
  await core.close()
  const verdict = await verifyInThread(path)
  if (!verdict.ok) throw new MoveError(`The ledger in ${path} does not hold: ${verdict.findings.join('; ')}.`)
}

/** The last numbers that were given to rows; a number is never given twice. */
async function numbersOf(read: Read): Promise<Map<string, number>> {
  const rows = await read({ sql: 'select name, seq from sqlite_sequence', parameters: [] })
  return new Map(rows.map((row) => [String(row['name']), Number(row['seq'])]))
}

interface Way {
  readonly config: Config
  readonly url: string
  readonly target: PostgresSide
  readonly say: Say
}

/** Carries over what is not there yet, compares, and lets the target be started. */
async function carry(
  { config, url, target, say }: Way,
  source: Db,
): Promise<Pick<Moved, 'tables' | 'ledger'>> {
  const read: Read = (statement) => source.all(statement)
  const tables = await tablesOf(read)
  const counts = await countRows(read, tables)
  const progress = new Progress(
    2 * Array.from(counts.values()).reduce((sum, rows) => sum + rows, 0),
    withBar(say),
  )
  for (const table of tables)
    await target.take(read, table, (rows) => progress.step(`moving ${table.name}`, rows))
  const digests = await compareTables(read, target.read, tables, progress)
  say('recomputing the ledger in PostgreSQL')
  const ledger = await verifyClusterInThread(url)
  if (!ledger.ok)
    throw new MoveError(`The ledger does not hold in the target: ${ledger.findings.join('; ')}.`)
  const secret = config.encryptionKey === null ? keyFileSecret(config.dataDir) : undefined
  await target.finish(await numbersOf(read), secret === undefined ? {} : { data_key_secret: secret })
  return { tables: digests, ledger: { ok: ledger.ok, entries: ledger.entries } }
}

/** What the target is to this source: prepared for it now, or found half filled by it, or whole. */
async function prepare(
  path: string,
  target: PostgresSide,
  begun: MovedTo | undefined,
): Promise<{ readonly moved: MovedTo; readonly state: 'new' | 'half' | 'whole' }> {
  const origin = await target.origin()
  if (origin !== undefined && origin.id === begun?.id) {
    if (!origin.isWhole) await target.makeSchema(origin.id)
    return { moved: begun, state: origin.isWhole ? 'whole' : 'half' }
  }
  if (origin !== undefined) {
    const other = origin.isWhole ? '' : ', or run the move or restore again that has begun to fill this one'
    throw new TargetError(
      `The target is not empty: what is in it was moved there from elsewhere. Let DATABASE_URL name an empty database${other}.`,
    )
  }
  if (begun?.isWhole === true)
    throw new MoveError(`Everything in ${path} was moved at ${begun.at} to another database than this one.`)
  const moved = begun ?? { id: newId('move'), to: 'postgres', at: new Date().toISOString(), isWhole: false }
  const tables = await reading(path, (db) => tablesOf((statement) => db.all(statement)))
  await target.begin(moved.id, tables, () => noteMoved(path, moved))
  await target.makeSchema(moved.id)
  return { moved, state: 'new' }
}

/** Moves what is in `config.dataDir`, whose lock the caller holds. Throws MoveError or TargetError. */
export async function moveToPostgres(config: Config, url: string, say: Say): Promise<Moved> {
  const path = join(config.dataDir, databaseFileName)
  if (!existsSync(path)) throw new MoveError(`There is no database in ${config.dataDir} to be moved.`)
  const begun = await reading(path, movedTo)
  if (begun?.to === 'sqlite')
    throw new MoveError(`${path} is no source: it was moved elsewhere at ${begun.at}.`)
  if (begun === undefined) {
    say('recomputing the ledger')
    await settle(config, path)
  }
  const target = await PostgresSide.open(url)
  try {
    const { moved, state } = await prepare(path, target, begun)
    const carried =
      state === 'whole'
        ? { tables: [], ledger: null }
        : await reading(path, (db) => carry({ config, url, target, say }, db))
    noteMoved(path, { ...moved, isWhole: true })
    return { isNew: state !== 'whole', isResumed: state === 'half', ...carried }
  } finally {
    await target.close()
  }
}

/** Takes back a move that is not finished: the relay may be started on its directory again. */
export async function giveUpMove(dataDir: string): Promise<void> {
  const path = join(dataDir, databaseFileName)
  if (!existsSync(path)) throw new MoveError(`There is no database in ${dataDir}.`)
  const moved = await reading(path, movedTo)
  if (moved === undefined) throw new MoveError(`Nothing in ${dataDir} is being moved.`)
  if (moved.isWhole)
    throw new MoveError(`The move of ${moved.at} is finished: what happened since is over there.`)
  noteMoved(path, null)
}
