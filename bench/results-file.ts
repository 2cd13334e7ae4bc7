/** The figures of a run as data, for programs: docs/performance.json. */

import { computeFigures } from './figures.ts'
import type { Quartiles } from './quartiles.ts'
import type { Run } from './measured-run.ts'
import { targetResults } from './target-results.ts'
import type { TargetResult } from './targets.ts'
import { describeMachine } from './machine.ts'
import type { SubjectName } from './subjects.ts'

export interface ResultRow {
  readonly group: string
  readonly title: string
  readonly name: SubjectName
  readonly subject: string
  readonly unit: 'request' | 'chunk'
  /** Per unit; null for the upstream itself. */
  readonly cpuMicros: Quartiles | null
  /** Relative to the baseline relay, or to what the row compares with. */
  readonly ratio: Quartiles | null
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Why the row does not count. */
  readonly invalid: string | null
}

export interface Results {
  readonly date: string
  readonly machine: string
  readonly targets: readonly TargetResult[]
  readonly rows: readonly ResultRow[]
}

export function resultsOf(run: Run): Results {
  const rows = run.measured.flatMap((measured) =>
    run.subjects.flatMap((subject): ResultRow[] => {
      const { group, title, unit } = measured.measurement
      const figures = computeFigures(measured, subject.name)
      if (!figures) return []
      const { micros, ratio, perSecond, p50Ms, p99Ms, invalid } = figures
      return [
        {
          group,
          title,
          name: subject.name,
          subject: subject.title,
          unit,
          cpuMicros: subject.pid === 0 ? null : rounded(micros),
          ratio: subject.pid === 0 || ratio === undefined ? null : rounded(ratio),
          perSecond: hundredth(perSecond),
          p50Ms: hundredth(p50Ms),
          p99Ms: hundredth(p99Ms),
          invalid: invalid ?? null,
        },
      ]
    }),
  )
  return { date: run.date, machine: describeMachine(run), targets: targetResults(run), rows }
}

function rounded({ q1, median, q3 }: Quartiles): Quartiles {
  return { median: hundredth(median), q1: hundredth(q1), q3: hundredth(q3) }
}

function hundredth(value: number): number {
  return Math.round(value * 100) / 100
}
