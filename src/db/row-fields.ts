/** Rows as objects of the code: columns are named in snake_case, fields in camelCase. */

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<CamelCase<Rest>>}`
  : Name

/** The fields of a row: each column under its name in camelCase. */
export type RowFields<Row> = {
  readonly [Column in keyof Row & string as CamelCase<Column>]: Row[Column]
}

const fieldNames = new Map<string, string>()

function fieldName(column: string): string {
  const known = fieldNames.get(column)
  if (known !== undefined) return known
  const name = column.replaceAll(/_(\w)/g, (_match, letter: string) => letter.toUpperCase())
  fieldNames.set(column, name)
  return name
}

export function fieldsOf<Row extends object>(row: Row): RowFields<Row> {
  const fields = Object.entries(row).map(
    ([column, value]: [string, unknown]) => [fieldName(column), value] as const,
  )
  return Object.fromEntries(fields) as RowFields<Row>
}
