/** One migration of the schema; a released migration is never edited. The list is in migrations.ts. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly ddl: string
  /** The DDL for PostgreSQL, if postgres/sql-text.ts cannot derive it from `ddl`. */
  readonly postgres?: string
}
