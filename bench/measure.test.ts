import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { resetConnection } from '../test/support/upstream/fault-injection.ts'
import { respondWithError, respondWith } from '../test/support/upstream/scripted-responses.ts'
import { startScriptedUpstream } from '../test/support/upstream/scripted-upstream.ts'
import type { MeasuredLoad } from './figures.ts'
import { quartiles } from './quartiles.ts'
import { measureLedger } from './ledger.ts'
import { measure } from './measure.ts'
import { buildPlan, type Measurement } from './plan.ts'
import { startProduct } from './product.ts'
import type { Run } from './measured-run.ts'
import { renderReport } from './report.ts'
import { resultsOf } from './results-file.ts'
import { startUpstream } from './subjects.ts'
import type { Subject } from './subjects.ts'
import { targetResults } from './target-results.ts'
import { compare, hundredths } from './targets.ts'

const load = { connections: 4, warmSeconds: 0.05, seconds: 0.25 }
/** For reasons why a sample is invalid: each connection has a response even after the shortest measurement. */
const briefLoad = { connections: 4, warmSeconds: 0, seconds: 0.01 }

describe('targets', () => {
  const target = { load: 'load', measure: 'ratio', required: 1.4, goal: 1, format: hundredths }

  test('a target – is met if the worse quartile is', () => {
    const result = (values: number[]): string => compare(target, quartiles(values)).result
    assert.equal(result([0.9, 1, 1, 1]), 'goal met')
    assert.equal(result([0.9, 1, 1.2, 1.3]), 'met')
    assert.equal(result([0.9, 1, 1.5, 1.5]), 'missed')
    const minimum = { ...target, required: 0.9, goal: 0.97, isMinimum: true }
    assert.equal(compare(minimum, quartiles([0.8, 0.8, 1, 1])).result, 'missed')
    assert.deepEqual(compare(target, quartiles([1]), 'off'), {
      load: 'load',
      measure: 'ratio',
      required: '≤ 1.40',
      goal: '≤ 1.00',
      figure: 'off',
      result: 'missed',
    })
  })

  test('a load that is repeated after streams – counts as the worse of the two', () => {
    const plan = buildPlan({ seconds: 1, rounds: 1 })
    const [first] = plan
    const repetition = plan.find(({ repeats }) => repeats === first?.title)
    assert.ok(first && repetition)
    const run = runOf([measuredLoad(first, 110), measuredLoad(repetition, 150)])
    const [result, ...others] = targetResults(run)
    assert.deepEqual(others, [])
    assert.deepEqual([result?.load, result?.figure, result?.result], [first.title, '1.50', 'missed'])
    assert.match(renderReport(run), /1 KB, 64 connections \| .* \| 1\.50 \| missed/)
    assert.deepEqual(
      resultsOf(run).rows.map(({ subject, ratio }) => [subject, ratio?.median]),
      [
        ['Sluice', 1.1],
        ['Sluice', 1.5],
      ],
    )
  })
})

function measuredLoad(measurement: Measurement, cpuMicros: number): MeasuredLoad {
  const sample = { seconds: 1, answers: 1, events: 0, reads: 0, p50Ms: 1, p99Ms: 1, ownCpuMicros: 0 }
  return {
    measurement,
    samples: new Map([
      ['baseline', [{ ...sample, cpuMicros: 100 }]],
      ['sluice', [{ ...sample, cpuMicros }]],
    ]),
  }
}

function runOf(measured: MeasuredLoad[]): Run {
  const stop = (): Promise<void> => Promise.resolve()
  const subject: Subject = { name: 'sluice', title: 'Sluice', port: 0, key: '', pid: process.pid, stop }
  return {
    date: '2026-11-28',
    seconds: 1,
    rounds: 1,
    workers: 1,
    nginx: undefined,
    sync: { p50Ms: 0.2, p99Ms: 0.4 },
    subjects: [subject],
    measured,
    ledger: [],
    verification: null,
    cluster: null,
    overload: null,
    memory: null,
    isComplete: false,
  }
}

describe('benchmarks', () => {
  test('responses of the benchmark upstream – count, non-streaming and streaming', async (t) => {
    const upstream = await startUpstream(1)
    t.after(() => upstream.stop())
    const nonStreaming = await measure(upstream, { ...load, kind: '40kb' })
    assert.equal(nonStreaming.invalid, undefined)
    assert.ok(nonStreaming.answers > 0 && nonStreaming.p50Ms > 0 && nonStreaming.p99Ms >= nonStreaming.p50Ms)
    const stream = await measure(upstream, { ...load, kind: 'stream' })
    assert.equal(stream.invalid, undefined)
    assert.ok(stream.events > 0)
    assert.equal(stream.threads, undefined)
    for (const kind of ['responses', 'responses-stream', 'embeddings'] as const)
      assert.equal((await measure(upstream, { ...load, kind })).invalid, undefined, kind)
  })

  test('a wrong, failed, lost or uncharged response – makes a sample invalid', async (t) => {
    const upstream = await startScriptedUpstream()
    t.after(() => upstream.close())
    const subject: Subject = {
      name: 'baseline',
      title: 'scripted',
      port: upstream.port,
      key: 'sk',
      pid: process.pid,
      stop: () => upstream.close(),
    }
    const invalidReason = async (kind: '1kb' | 'stream') =>
      (await measure(subject, { ...briefLoad, kind })).invalid ?? ''
    upstream.always(respondWith('Something else'))
    for (const reason of await Promise.all([invalidReason('1kb'), invalidReason('stream')]))
      assert.match(reason, /other bytes/)
    upstream.always(respondWithError(503))
    assert.match(await invalidReason('1kb'), /status 503/)
    upstream.always(resetConnection)
    assert.match(await invalidReason('1kb'), /closed|ECONN/)

    const good = await startUpstream(1)
    t.after(() => good.stop())
    const uncharged = { ...good, checkCharged: () => Promise.reject(new Error('the balance is off')) }
    assert.equal((await measure(uncharged, { ...briefLoad, kind: '1kb' })).invalid, 'the balance is off')
  })

  test('a product – is measured by thread, and its commits count', async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
    t.after(() => rmSync(directory, { recursive: true }))
    const upstream = await startUpstream(1)
    t.after(() => upstream.stop())
    // A single worker has no thread of its own.
    const product = await startProduct({ upstreamPort: upstream.port, workers: 2, directory })
    t.after(() => product.stop())
    const sample = await measure(product, { ...load, seconds: 2, kind: '1kb' })
    assert.equal(sample.invalid, undefined)
    const { main = 0, worker = 0, store = 0 } = sample.threads ?? {}
    assert.ok(main > 0 && worker > 0 && store > 0)
    assert.ok(sample.commits !== undefined && sample.commits > 0 && sample.commits <= 2 * sample.answers + 8)
  })

  test('the ledger benchmark – holds and settles, and the ledger verifies', async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
    t.after(() => rmSync(directory, { recursive: true }))
    const figures = await measureLedger(directory, 0.1, 1)
    assert.deepEqual(
      figures.map(({ inFlight }) => inFlight),
      [64, 512],
    )
    for (const { perSecond, p50Ms, p99Ms, micros } of figures)
      assert.ok(perSecond > 0 && p99Ms >= p50Ms && micros > 0)
  })
})
