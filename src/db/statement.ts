/** SQL statements with their parameters, and the rows that they return. */

export type Parameter = null | number | bigint | string | Uint8Array

export interface Statement {
  readonly sql: string
  readonly parameters: readonly Parameter[]
  /** How many rows the statement must change, or return if it returns rows; otherwise the batch is rolled back. */
  readonly expectChanges?: number
}

export type Row = Record<string, Parameter>

export interface StatementResult {
  readonly rows: Row[]
  readonly changes: number
}
