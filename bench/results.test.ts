import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { buildPlan } from './plan.ts'
import type { Sample } from './measure.ts'
import { renderReport } from './report.ts'
import { resultsOf } from './results.ts'
import type { Subject, SubjectName } from './subjects.ts'

const sample = (cpuMicros: number): Sample => ({
  answers: 100,
  events: 100,
  reads: 100,
  seconds: 2,
  p50Ms: 1.256,
  p99Ms: 3,
  cpuMicros,
  ownCpuMicros: 1,
})

function subjectOf(name: SubjectName, pid: number): Subject {
  return { name, title: `the ${name}`, port: 1, key: 'k', pid, stop: () => Promise.resolve() }
}

describe('results of a benchmark as data', () => {
  test('a load – has the figures of the page, for each relay that was measured', () => {
    const [measurement] = buildPlan(1)
    assert.ok(measurement)
    const samples = new Map<SubjectName, Sample[]>([
      ['baseline', [sample(5000), sample(7000)]],
      ['sluice', [sample(10_000), sample(14_000)]],
    ])
    const run = {
      date: '2026-11-28',
      seconds: 2,
      rounds: 2,
      workers: 1,
      nginx: undefined,
      sync: { p50Ms: 0.2, p99Ms: 0.3 },
      subjects: [subjectOf('direct', 0), subjectOf('baseline', 7), subjectOf('sluice', 8)],
      measured: [{ measurement, samples }],
      ledger: [],
      verification: null,
      cluster: null,
      overload: null,
      peakRssBytes: new Map<Subject, number>(),
    }
    const { date, machine, loads } = resultsOf(run)
    const latency = { perSecond: 50, p50Ms: 1.26, p99Ms: 3 }
    assert.equal(date, '2026-11-28')
    assert.ok(renderReport(run).includes(machine))
    assert.deepEqual(loads, [
      {
        title: '1 KB, 64 connections',
        unit: 'request',
        relays: [
          {
            name: 'baseline',
            title: 'the baseline',
            ...latency,
            micros: 60,
            lowestMicros: 50,
            highestMicros: 70,
            ratio: 1,
          },
          {
            name: 'sluice',
            title: 'the sluice',
            ...latency,
            micros: 120,
            lowestMicros: 100,
            highestMicros: 140,
            ratio: 2,
          },
        ],
      },
    ])
  })
})
