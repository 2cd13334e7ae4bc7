import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { resetConnection } from '../test/support/upstream/fault-injection.ts'
import { respondWithError, respondWith } from '../test/support/upstream/scripted-responses.ts'
import { startScriptedUpstream } from '../test/support/upstream/scripted-upstream.ts'
import { measureLedger } from './ledger.ts'
import { measure } from './measure.ts'
import { startUpstream } from './subjects.ts'
import type { Subject } from './subjects.ts'

const load = { connections: 4, warmSeconds: 0.05, seconds: 0.25 }
/** For reasons why a sample is invalid: each connection has a response even after the shortest measurement. */
const briefLoad = { connections: 4, warmSeconds: 0, seconds: 0.01 }

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
