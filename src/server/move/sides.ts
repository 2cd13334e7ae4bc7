/** What moves in either direction stand on: both sides read and compared, and what is told of it. */

import type { Db } from '../../db/db.ts'
import { openReadOnly } from '../../db/sqlite/read-only.ts'
import { digestOf, type TableDigest } from '../../db/transfer/digest.ts'
import type { Read, TableShape } from '../../db/transfer/tables.ts'
import type { Progress } from './progress.ts'

/** Something cannot be moved: these words say why. */
export class MoveError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'MoveError'
  }
}

export interface Moved {
  /** False: it had been done before. */
  readonly isNew: boolean
  /** It went on where an earlier one was cut off. */
  readonly isResumed: boolean
  readonly tables: readonly (TableDigest & { readonly name: string })[]
  /** What the recomputation over there has found; null: it had been done before. */
  readonly ledger: { readonly ok: boolean; readonly entries: number } | null
}

/** Reads a SQLite file at one moment. */
export async function reading<Result>(path: string, read: (db: Db) => Promise<Result>): Promise<Result> {
  const still = openReadOnly(path)
  try {
    return await read(still.db)
  } finally {
    still.close()
  }
}

/** Reads tables through on both sides. Throws MoveError where they differ. */
export async function compareTables(
  source: Read,
  target: Read,
  tables: readonly TableShape[],
  progress: Progress,
): Promise<Moved['tables']> {
  const digests = []
  for (const table of tables) {
    const { name } = table
    const [here, there] = await Promise.all([
      digestOf(source, table, (rows) => progress.step(`comparing ${name}`, rows)),
      digestOf(target, table, () => undefined),
    ])
    if (here.rows !== there.rows || here.sha256 !== there.sha256)
      throw new MoveError(
        `The table ${name} is not the same on both sides (${here.rows} and ${there.rows} rows).`,
      )
    digests.push({ name, ...here })
  }
  return digests
}
