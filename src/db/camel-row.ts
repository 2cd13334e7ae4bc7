/** Rows under the names that the program uses: `createdAt` in place of `created_at`. */
import { snakeCase } from './audit-changes.ts'

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

export type CamelRow<Row> = { readonly [Name in keyof Row & string as CamelCase<Name>]: Row[Name] }

export function camelRow<Row extends object>(row: Row): CamelRow<Row> {
  const fields = Object.entries(row).map(([name, value]) => {
    return [name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()), value as unknown]
  })
  return Object.fromEntries(fields) as CamelRow<Row>
}

/** The columns of those fields that are given. */
export function columnsOf<Row>(fields: Partial<CamelRow<Row>>): Partial<Row> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [snakeCase(name), value])) as Partial<Row>
}
