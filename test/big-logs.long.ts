/** Acceptance 27: ten million rows, five people who reload: every page within 300 ms (p95), and callers do not feel it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Account } from './support/server/account.ts'
import { measurePages, openPast, reload } from './big-log-pages.ts'
import { percentile } from './long/large-history.ts'
import { SteadyCalls } from './long/steady-load.ts'

const rows = Number(process.env['PAST_ROWS'] ?? 10_000_000)
const rounds = 7
const model = 'calls'

test('five people reload usage and requests over ten million rows: p95 within 300 ms, and the p99 of callers moves by less than a tenth', async (t) => {
  const calls = await SteadyCalls.open()
  t.after(() => calls.close())
  let caller: Account | undefined
  const past = await openPast(t, rows, async (house) => {
    await house.model(model, { upstreams: [await house.upstreamAt(calls.upstreamUrl)] })
    caller = await house.account({ balance: '1000' })
  })
  assert.ok(caller)
  await measurePages(t, past, 1)
  const p95 = await measurePages(t, past, 5)
  t.diagnostic(`p95 ${p95.toFixed(0)} ms`)

  const round = { url: past.house.url, secret: caller.key.secret, model, perSecond: 100, seconds: 10 }
  await calls.measure(round)
  const p99s: Record<'alone' | 'beside', number[]> = { alone: [], beside: [] }
  for (let count = 0; count < rounds; count += 1) {
    p99s.alone.push(percentile(await calls.measure(round), 0.99))
    const leaving = new AbortController()
    const reloading = reload(past, leaving.signal)
    p99s.beside.push(percentile(await calls.measure(round), 0.99))
    leaving.abort()
    await reloading
  }
  const [alone, beside] = [percentile(p99s.alone, 0.5), percentile(p99s.beside, 0.5)]
  t.diagnostic(`p99 of callers ${alone.toFixed(2)} ms alone, ${beside.toFixed(2)} ms beside the people`)
  for (const [name, all] of Object.entries(p99s))
    t.diagnostic(`${name}: ${all.map((ms) => ms.toFixed(2)).join(', ')} ms`)
  assert.ok(past.firstMs < 300, `the first dashboard took ${past.firstMs} ms`)
  assert.ok(p95 < 300, `pages took ${p95} ms`)
  assert.ok(beside < alone * 1.1, `the p99 of callers went from ${alone} to ${beside} ms`)
  await past.house.nothingHeld()
})
