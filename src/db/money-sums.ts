/**
 * Sums of money that no amount makes fail. A roll-up is a whole number of 64 bits, and SQLite refuses a sum beyond; a
 * price that a finger slipped on, or a year of all accounts, may come to more. So what a roll-up counts stops at a bound,
 * nine thousand million yuan for an hour's group, and what is added up over groups is added up in yuan and the rest.
 */

const mostText = '9000000000000000000'
const nanosPerYuan = 1_000_000_000n

/** A request costs ten million yuan at the most: so many of them stay within 64 bits. */
export const rowsPerSum = 900

/** The sum of a column for a row of a roll-up; of no more than `rowsPerSum` rows where the database is SQLite. */
export function boundedSum(column: string): string {
  return `case when sum(${column}) > ${mostText} then ${mostText} else sum(${column}) end`
}

/** In an upsert, a column of money with what is excluded added to it. */
export function boundedAddition(table: string, column: string): string {
  const most = `${mostText} - excluded.${column}`
  return `${column} = case when ${table}.${column} > ${most} then ${mostText}
    else ${table}.${column} + excluded.${column} end`
}

/** A sum in two columns, `‹name›_yuan` and `‹name›_rest_nanos`; `nanosOfSum` puts them together. */
export function splitSum(column: string, name: string): string {
  return `coalesce(sum(${column} / ${nanosPerYuan}), 0) as ${name}_yuan,
    coalesce(sum(${column} % ${nanosPerYuan}), 0) as ${name}_rest_nanos`
}

export function nanosOfSum(yuan: number, restNanos: bigint): bigint {
  return BigInt(yuan) * nanosPerYuan + restNanos
}

/** What orders groups by the sum of a column, the largest first. */
export function largestFirst(column: string): string {
  const rest = `sum(${column} % ${nanosPerYuan})`
  return `sum(${column} / ${nanosPerYuan}) + ${rest} / ${nanosPerYuan} desc, ${rest} % ${nanosPerYuan} desc`
}

/** Whether the sum of a column comes to `?` nanos, less than a yuan. */
export function reaching(column: string): string {
  return `(sum(${column} / ${nanosPerYuan}) > 0 or sum(${column} % ${nanosPerYuan}) >= ?)`
}
