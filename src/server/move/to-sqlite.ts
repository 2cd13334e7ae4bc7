/**
 * Everything of a cluster back into the file of one relay. The nodes are stopped; the file is made and proven beside its
 * place, then PostgreSQL says that everything lives elsewhere now, and the file is put in place. Cut off before that, the
 * same command begins anew; after it, it goes on.
 */

import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { restoreBackup } from '../../db/sqlite/backup-file.ts'
import { databaseFileName } from '../../db/store.ts'
import { PostgresSide } from '../../db/transfer/to-postgres.ts'
import { movedFrom, movedTo, noteOrigin } from '../../db/transfer/move-marker.ts'
import { countRows, tablesOf, type Read } from '../../db/transfer/tables.ts'
import { newId } from '../../lib/ids.ts'
import { keyFileSecret } from '../../lib/encryption.ts'
import { checkDatabase, keyFile, syncPath } from '../backup/backup-folder.ts'
import { copyFromPostgres, type Copied } from '../migrate-store/copy-from-postgres.ts'
import { Progress, withBar, type Say } from './progress.ts'
import { compareTables, MoveError, reading, type Moved } from './sides.ts'

const arrivingName = 'moving.db'

/** Where a move ends, and the file on its way there. */
interface Places {
  readonly dataDir: string
  readonly path: string
  readonly arriving: string
}

/** What the ledger's recomputation proves, and what one relay numbers in its own way: not compared row by row. */
function isComparable(table: string, { alsoGone }: Copied): boolean {
  if (table === 'journal' || table === 'entries') return false
  return alsoGone === 0 || (table !== 'requests' && table !== 'dropped_bills')
}

async function makeFile(
  side: PostgresSide,
  { dataDir, arriving }: Places,
  url: string,
  say: Say,
): Promise<Pick<Moved, 'tables' | 'ledger'>> {
  const copied = await copyFromPostgres(url, arriving, withBar(say))
  const tables = await reading(arriving, async (db) => {
    const read: Read = (statement) => db.all(statement)
    const shapes = (await tablesOf(read)).filter(({ name }) => isComparable(name, copied))
    const counts = await countRows(read, shapes)
    const rows = Array.from(counts.values()).reduce((sum, count) => sum + count, 0)
    return compareTables(read, side.read, shapes, new Progress(rows, withBar(say)))
  })
  say('recomputing the ledger')
  const { entries } = await checkDatabase(arriving)
  if (copied.secret !== undefined) putKey(dataDir, copied.secret)
  return { tables, ledger: { ok: true, entries } }
}

/** Another one, that lies there of an earlier life of the directory, is kept beside. */
function putKey(dataDir: string, secret: string): void {
  if (keyFileSecret(dataDir) === secret) return
  const path = join(dataDir, keyFile)
  if (existsSync(path)) renameSync(path, `${path}.before`)
  writeFileSync(path, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
}

function putInPlace({ dataDir, arriving, path }: Places): void {
  restoreBackup(arriving, dataDir, existsSync(path))
  rmSync(arriving, { force: true })
  syncPath(dataDir)
}

/** Whether the directory may take a file: it has none, or one whose content was moved away before. */
async function checkPlace({ path, dataDir }: Places): Promise<void> {
  if (!existsSync(path) || (await reading(path, movedTo))?.isWhole === true) return
  throw new MoveError(`There is a database in ${dataDir} already. Set DATA_DIR to a folder without one.`)
}

async function originOf(path: string): Promise<string | undefined> {
  return existsSync(path) ? reading(path, movedFrom) : undefined
}

/** Moves what is in a PostgreSQL to `dataDir`, whose lock the caller holds. Throws MoveError or TargetError. */
export async function moveToSqlite(dataDir: string, url: string, say: Say): Promise<Moved> {
  const places = { dataDir, path: join(dataDir, databaseFileName), arriving: join(dataDir, arrivingName) }
  const side = await PostgresSide.open(url)
  try {
    const before = await side.movedTo()
    if (before !== undefined) {
      const done = { isNew: false, isResumed: false, tables: [], ledger: null }
      if ((await originOf(places.path)) === before.id) return done
      if ((await originOf(places.arriving)) !== before.id)
        throw new MoveError(`Everything in this PostgreSQL was moved at ${before.at} to another directory.`)
      putInPlace(places)
      return { ...done, isNew: true, isResumed: true }
    }
    await side.checkStopped()
    await checkPlace(places)
    const made = await makeFile(side, places, url, say)
    const id = newId('move')
    noteOrigin(places.arriving, id)
    syncPath(places.arriving)
    await side.noteMoved({ id, to: 'sqlite', at: new Date().toISOString(), isWhole: true })
    putInPlace(places)
    return { isNew: true, isResumed: false, ...made }
  } finally {
    await side.close()
  }
}
