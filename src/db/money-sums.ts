/**
 * Sums of money that cannot overflow. A roll-up stores 64-bit integers, and SQLite rejects a larger sum, which a mistyped
 * price or a year of all accounts may exceed. Therefore a roll-up saturates at nine thousand million per group, and
 * sums over groups are computed in whole units of the currency and the remaining nanos separately.
 */

const maxSumSql = '9000000000000000000'
const nanosPerUnit = 1_000_000_000n

/** A request costs at most ten million, so the sum of this many stays within 64 bits. */
export const maxRowsPerSum = 900

/** The SQL of a saturating sum of a column; in SQLite of at most `maxRowsPerSum` rows. */
export function boundedSumSql(column: string): string {
  return `case when sum(${column}) > ${maxSumSql} then ${maxSumSql} else sum(${column}) end`
}

/** The SQL that adds the excluded value to a money column in an upsert, saturating. */
export function boundedAdditionSql(table: string, column: string): string {
  const maxSql = `${maxSumSql} - excluded.${column}`
  return `${column} = case when ${table}.${column} > ${maxSql} then ${maxSumSql}
    else ${table}.${column} + excluded.${column} end`
}

/** The SQL of a sum in two columns, `‹name›_units` and `‹name›_rest_nanos`, which `joinSum` combines. */
export function splitSumSql(column: string, name: string): string {
  return `coalesce(sum(${column} / ${nanosPerUnit}), 0) as ${name}_units,
    coalesce(sum(${column} % ${nanosPerUnit}), 0) as ${name}_rest_nanos`
}

export function joinSum(units: number, restNanos: bigint): bigint {
  return BigInt(units) * nanosPerUnit + restNanos
}

/** The SQL that orders groups by the sum of a column, largest first. */
export function largestSumFirstSql(column: string): string {
  const rest = `sum(${column} % ${nanosPerUnit})`
  return `sum(${column} / ${nanosPerUnit}) + ${rest} / ${nanosPerUnit} desc, ${rest} % ${nanosPerUnit} desc`
}

/** The SQL condition that the sum of a column is at least `?` nanos, for less than one unit. */
export function sumAtLeastSql(column: string): string {
  return `(sum(${column} / ${nanosPerUnit}) > 0 or sum(${column} % ${nanosPerUnit}) >= ?)`
}
