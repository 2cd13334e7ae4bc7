/**
 * All columns with sealed values, and the queries that seal them again under another data key. This is the only module
 * that writes columns of other owners: it replaces the encryption of a value, never the value.
 */

import { SealError, sealedPrefixChars, type Sealer } from '../lib/encryption.ts'
import type { Db } from './db.ts'
import type { Parameter, Row, Statement } from './statement.ts'

interface SealedColumn {
  readonly table: string
  readonly column: string
  /** The primary key, which is the order in which rows are read. */
  readonly key: readonly string[]
  /** The column with the id that the value is sealed for. */
  readonly sealedFor: string
  /** Which rows have a sealed value, if not all. */
  readonly condition?: string
  readonly isBinary?: true
}

/** Every call of `Sealer.seal` and `Sealer.sealBytes` writes one of these, except for summaries, which callers keep. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'upstreams', column: 'credential', key: ['id'], sealedFor: 'id' },
  { table: 'upstreams', column: 'proxy', key: ['id'], sealedFor: 'id' },
  { table: 'upstreams', column: 'headers', key: ['id'], sealedFor: 'id' },
  { table: 'upstream_credentials', column: 'credential', key: ['id'], sealedFor: 'id' },
  { table: 'channels', column: 'target', key: ['id'], sealedFor: 'id' },
  { table: 'persons', column: 'totp_secret', key: ['id'], sealedFor: 'id' },
  { table: 'settings', column: 'value', key: ['name'], sealedFor: 'name', condition: `name = 'demo_key'` },
  {
    table: 'kept_answers',
    column: 'answer',
    key: ['account_id', 'key_hash'],
    sealedFor: 'request_id',
    isBinary: true,
  },
  {
    table: 'response_items',
    column: 'item',
    key: ['account_id', 'item_id'],
    sealedFor: 'item_id',
    isBinary: true,
  },
]

/** Texts are short; stored responses have up to 1 MiB each. */
const rowsPerBatch = { text: 100, binary: 8 }

/** A position in the columns: after the row with this key. */
export interface SealedPosition {
  readonly column: number
  readonly key: readonly string[]
}

export const firstPosition: SealedPosition = { column: 0, key: [] }

/** The condition for values that another key than the one with this prefix has sealed, and its parameter. */
function otherKey({ column, condition, isBinary }: SealedColumn, prefix: string): [string, Parameter] {
  const rows = condition === undefined ? '' : ` and ${condition}`
  return [
    `${column} is not null and substr(${column}, 1, ${sealedPrefixChars}) <> ?${rows}`,
    isBinary === true ? new TextEncoder().encode(prefix) : prefix,
  ]
}

/** Counts the values that the sealer's current key has not sealed. 0 if there was no rotation, so that there is one key. */
export async function countOtherwiseSealed(db: Db, { prefix }: Sealer): Promise<number> {
  if (prefix === '') return 0
  let count = 0
  for (const column of sealedColumns) {
    const [condition, parameter] = otherKey(column, prefix)
    const [row] = await db.report<{ total: number }>({
      sql: `select count(*) as total from ${column.table} where ${condition}`,
      parameters: [parameter],
    })
    count += Number(row?.total)
  }
  return count
}

function readStatement(
  column: SealedColumn,
  { key: after }: SealedPosition,
  prefix: string,
  maxRows: number,
): Statement {
  const key = column.key.join(', ')
  const [condition, parameter] = otherKey(column, prefix)
  const isAfter = after.length === 0 ? '' : ` and (${key}) > (${after.map(() => '?').join(', ')})`
  return {
    sql: `select ${key}, ${column.sealedFor} as sealed_for, ${column.column} as sealed from ${column.table}
      where ${condition}${isAfter} order by ${key} limit ${maxRows}`,
    parameters: [parameter, ...after],
  }
}

/** Writes only if the value is unchanged, because its owner may have replaced it in the meantime. */
function writeStatement({ table, column, key }: SealedColumn, row: Row, sealed: Parameter): Statement {
  return {
    sql: `update ${table} set ${column} = ? where ${key.map((each) => `${each} = ?`).join(' and ')} and ${column} = ?`,
    parameters: [sealed, ...key.map((each) => row[each] ?? null), row['sealed'] ?? null],
  }
}

function reseal(sealer: Sealer, value: Parameter | undefined, rowId: string): Parameter {
  return value instanceof Uint8Array
    ? sealer.sealBytes(sealer.unsealBytes(value, rowId), rowId)
    : sealer.seal(sealer.unseal(String(value), rowId), rowId)
}

export interface ResealedBatch {
  readonly resealed: number
  /** Where the next batch begins; null: these were the last values. */
  readonly next: SealedPosition | null
  /** Values that none of the keys opens, which were left as they are: `table.column of id`. */
  readonly unreadable: readonly string[]
}

/** Seals the next values again under the sealer's current key, in one transaction. */
export async function resealBatch(
  db: Db,
  sealer: Sealer,
  from: SealedPosition,
  maxRows?: number,
): Promise<ResealedBatch> {
  const column = sealer.prefix === '' ? undefined : sealedColumns[from.column]
  if (column === undefined) return { resealed: 0, next: null, unreadable: [] }
  const limit = maxRows ?? (column.isBinary === true ? rowsPerBatch.binary : rowsPerBatch.text)
  const rows = await db.all<Row>(readStatement(column, from, sealer.prefix, limit))
  const last = rows.at(-1)
  if (last === undefined) return resealBatch(db, sealer, { column: from.column + 1, key: [] }, maxRows)
  const statements: Statement[] = []
  const unreadable: string[] = []
  for (const row of rows) {
    const rowId = String(row['sealed_for'])
    try {
      statements.push(writeStatement(column, row, reseal(sealer, row['sealed'], rowId)))
    } catch (error) {
      if (!(error instanceof SealError)) throw error
      unreadable.push(`${column.table}.${column.column} of ${rowId}`)
    }
  }
  if (statements.length > 0) await db.write(...statements)
  const key = column.key.map((each) => String(last[each]))
  return { resealed: statements.length, next: { column: from.column, key }, unreadable }
}
