/** One step of the schema; a released one is never edited. The list of all is in migrations.ts. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly ddl: string
  /** As PostgreSQL has it, where the rules of postgres/text.ts cannot make it from `ddl`. */
  readonly postgres?: string
}
