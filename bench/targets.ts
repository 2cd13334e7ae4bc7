/** Compares a figure with what it must reach. */

import type { Quartiles } from './quartiles.ts'

/** `required` must be reached, `goal` is where to stop. */
export interface Bounds {
  readonly required: number
  readonly goal?: number
}

export interface Target extends Bounds {
  readonly load: string
  /** What is measured, such as `CPU per request, × the baseline relay`. */
  readonly measure: string
  /** Whether the figure must be at least the bound; default: at most. */
  readonly isMinimum?: boolean
  readonly format: (value: number) => string
}

export interface TargetResult {
  load: string
  measure: string
  required: string
  goal: string
  figure: string
  result: 'goal met' | 'met' | 'missed'
}

export const hundredths = (value: number): string => value.toFixed(2)

/** A figure without spread. */
export function single(value: number): Quartiles {
  return { q1: value, median: value, q3: value }
}

/** Met if the worse quartile is. */
export function compare(target: Target, measured: Quartiles, invalid?: string): TargetResult {
  const { load, measure, required, goal, isMinimum = false, format } = target
  const isReached = (bound: number): boolean =>
    invalid === undefined && (isMinimum ? measured.q1 >= bound : measured.q3 <= bound)
  const met = isReached(required) ? 'met' : 'missed'
  return {
    load,
    measure,
    required: boundText(target, required),
    goal: goal === undefined ? '' : boundText(target, goal),
    figure: invalid ?? withQuartiles(measured, format),
    result: goal !== undefined && isReached(goal) ? 'goal met' : met,
  }
}

function boundText({ isMinimum, format }: Target, bound: number): string {
  return `${isMinimum ? '≥' : '≤'} ${format(bound)}`
}

/** The median, and the quartiles if there are several samples. */
export function withQuartiles({ q1, median, q3 }: Quartiles, format: (value: number) => string): string {
  return q1 === q3 ? format(median) : `${format(median)} (${format(q1)}–${format(q3)})`
}
