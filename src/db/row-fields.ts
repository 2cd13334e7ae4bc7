/** Rows as objects of the code: columns are named in snake_case, fields in camelCase. */
import { snakeCase } from './audit-changes.ts'

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<CamelCase<Rest>>}`
  : Name

/** The fields of a row: each column under its name in camelCase. */
export type RowFields<Row> = {
  readonly [Column in keyof Row & string as CamelCase<Column>]: Row[Column]
}

export function fieldsOf<Row extends object>(row: Row): RowFields<Row> {
  const fields = Object.entries(row).map(([column, value]: [string, unknown]) => {
    return [column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()), value]
  })
  return Object.fromEntries(fields) as RowFields<Row>
}

function toColumns(fields: object): object {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([name, value]: [string, unknown]) => [snakeCase(name), value]))
}

/** A whole row. */
export const rowOf = <Row>(fields: RowFields<Row>): Row => toColumns(fields) as Row

/** The columns of those fields that are given. */
export const columnsOf = <Row>(fields: Partial<RowFields<Row>>): Partial<Row> => toColumns(fields)
