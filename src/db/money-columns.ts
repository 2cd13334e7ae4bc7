/** Which integers are bigint in rows: sums of them can exceed 2^53, and they are never rounded. */

/** Nanos, and the minor units (fen, cents) of payment providers. */
export const isMoneyColumn = (name: string): boolean => name.endsWith('_nanos') || name.endsWith('_minor')
