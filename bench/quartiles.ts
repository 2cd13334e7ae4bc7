/** What several rounds say together. */

export interface Quartiles {
  q1: number
  median: number
  q3: number
}

export function median(values: number[]): number {
  return quantile(values, 0.5)
}

export function quartiles(values: number[]): Quartiles {
  return { q1: quantile(values, 0.25), median: median(values), q3: quantile(values, 0.75) }
}

/** Between two values, interpolated linearly. NaN if there are none. */
function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  const position = (sorted.length - 1) * share
  const lower = sorted[Math.floor(position)] ?? NaN
  const upper = sorted[Math.ceil(position)] ?? NaN
  return lower + (upper - lower) * (position - Math.floor(position))
}
