/** The loads of a run as data, written to docs/performance.json next to the page: charts are drawn from it. */
import { addedLatencyMs, computeFigures } from './figures.ts'
import { describeMachine, type Run } from './report.ts'
import type { BenchResults, RelayFigures } from './results-file.ts'

const rounded = (value: number): number => Math.round(value * 100) / 100

export function resultsOf(run: Run): BenchResults {
  const loads = run.measured.map((measured) => {
    const { title, unit, group } = measured.measurement
    const relays = run.subjects.flatMap(({ name, title: relayTitle, pid }): RelayFigures[] => {
      const figures = computeFigures(measured, name)
      if (figures === undefined) return []
      const { micros, lowestMicros, highestMicros, perSecond, p50Ms, p99Ms, ratio, invalid } = figures
      const added = group === 'latency' ? addedLatencyMs(measured, name) : undefined
      return [
        {
          name,
          title: relayTitle,
          ...(pid > 0 && {
            micros: rounded(micros),
            lowestMicros: rounded(lowestMicros),
            highestMicros: rounded(highestMicros),
          }),
          perSecond: Math.round(perSecond),
          p50Ms: rounded(p50Ms),
          p99Ms: rounded(p99Ms),
          ...(ratio !== undefined && group !== 'latency' && { ratio: rounded(ratio) }),
          ...(added !== undefined && { addedMs: rounded(added) }),
          ...(invalid !== undefined && { invalid }),
        },
      ]
    })
    return { title, unit, relays }
  })
  return { date: run.date, machine: describeMachine(run), loads }
}
