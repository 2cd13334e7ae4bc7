import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { hangingUp } from '../test/support/upstream/fault-injection.ts'
import { failing, saying } from '../test/support/upstream/scripted-responses.ts'
import { openUpstream } from '../test/support/upstream/scripted-upstream.ts'
import { withoutPostgres } from '../src/db/postgres/postgres.fixture.ts'
import { measureCluster } from './cluster.ts'
import { measureLedger } from './ledger.ts'
import { measure } from './measure.ts'
import { startUpstream } from './subjects.ts'
import type { Subject } from './subjects.ts'

const load = { connections: 4, warmSeconds: 0.05, seconds: 0.5 }

test('answers of the bench’s upstream count, whole and streamed', async (t) => {
  const upstream = await startUpstream(1)
  t.after(() => upstream.stop())
  const whole = await measure(upstream, { ...load, question: '40kb' })
  assert.equal(whole.invalid, undefined)
  assert.ok(whole.answers > 0 && whole.p50Ms > 0 && whole.p99Ms >= whole.p50Ms)
  const stream = await measure(upstream, { ...load, question: 'stream' })
  assert.equal(stream.invalid, undefined)
  assert.ok(stream.events > 0)
})

test('a wrong answer, a refusal, a lost connection and an uncharged answer make a sample invalid', async (t) => {
  const upstream = await openUpstream()
  t.after(() => upstream.close())
  const subject: Subject = {
    name: 'bare',
    title: 'scripted',
    port: upstream.port,
    key: 'sk',
    pid: process.pid,
    stop: () => upstream.close(),
  }
  const faultOf = async (question: '1kb' | 'stream') =>
    (await measure(subject, { ...load, question })).invalid ?? ''
  upstream.always(saying('Something else'))
  assert.match(await faultOf('1kb'), /other bytes/)
  assert.match(await faultOf('stream'), /other bytes/)
  upstream.always(failing(503))
  assert.match(await faultOf('1kb'), /status 503/)
  upstream.always(hangingUp)
  assert.match(await faultOf('1kb'), /closed|ECONN/)

  const good = await startUpstream(1)
  t.after(() => good.stop())
  const uncharged = { ...good, charged: () => Promise.reject(new Error('the balance is off')) }
  assert.equal((await measure(uncharged, { ...load, question: '1kb' })).invalid, 'the balance is off')
})

test('the ledger alone holds and settles, and adds up', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const figures = await measureLedger(directory, 0.5, 1)
  assert.deepEqual(
    figures.map(({ inFlight }) => inFlight),
    [64, 512],
  )
  for (const { perSecond, p50Ms, p99Ms, micros } of figures)
    assert.ok(perSecond > 0 && p99Ms >= p50Ms && micros > 0)
})

test(
  'the ledger of three nodes holds and settles on one account, and adds up',
  { skip: withoutPostgres },
  async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
    t.after(() => rmSync(directory, { recursive: true, force: true }))
    const run = await measureCluster(directory, 0.6, 1)
    assert.ok(run)
    assert.deepEqual(
      run.figures.map(({ inFlight }) => inFlight),
      [192, 384, 576],
    )
    for (const { perSecond, p50Ms, p99Ms, nodeMicros, databaseMicros } of run.figures)
      assert.ok(perSecond > 0 && p99Ms >= p50Ms && nodeMicros > 0 && databaseMicros >= 0)
    assert.ok(run.bytesPerRequest.requests > 100)
  },
)
