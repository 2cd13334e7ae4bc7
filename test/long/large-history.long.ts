/** Ten million rows and five users who reload pages: every page within 300 ms (p95), without slowing down callers. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Account } from '../support/server/account.ts'
import { measurePages, startWithHistory, reloadPages } from './page-latency.ts'
import { percentile } from './large-history.ts'
import { SteadyLoad } from './steady-load.ts'

const rows = Number(process.env['PAST_ROWS'] ?? 10_000_000)
const rounds = 7
const model = 'calls'

describe('Large history', () => {
  test('Pages over ten million rows – p95 within 300 ms, and callers are hardly slowed down', async (t) => {
    const calls = await SteadyLoad.open()
    t.after(() => calls.close())
    let caller: Account | undefined
    const history = await startWithHistory(t, rows, async (server) => {
      await server.model(model, { upstreams: [await server.upstreamAt(calls.upstreamUrl)] })
      caller = await server.account({ balance: '1000' })
    })
    assert.ok(caller)
    await measurePages(t, history, 1)
    const p95 = await measurePages(t, history, 5)
    t.diagnostic(`p95 ${p95.toFixed(0)} ms`)

    const round = { url: history.server.url, secret: caller.key.secret, model, perSecond: 100, seconds: 10 }
    await calls.measure(round)
    const p99s: Record<'idle' | 'reloading', number[]> = { idle: [], reloading: [] }
    for (let count = 0; count < rounds; count += 1) {
      p99s.idle.push(percentile(await calls.measure(round), 0.99))
      const disconnect = new AbortController()
      const reloads = reloadPages(history, disconnect.signal)
      p99s.reloading.push(percentile(await calls.measure(round), 0.99))
      disconnect.abort()
      await reloads
    }
    const [idleP99, reloadingP99] = [percentile(p99s.idle, 0.5), percentile(p99s.reloading, 0.5)]
    t.diagnostic(
      `p99 of callers ${idleP99.toFixed(2)} ms without reloads, ${reloadingP99.toFixed(2)} ms while users reload`,
    )
    for (const [name, all] of Object.entries(p99s))
      t.diagnostic(`${name}: ${all.map((ms) => ms.toFixed(2)).join(', ')} ms`)
    assert.ok(history.firstMs < 300, `the first dashboard took ${history.firstMs} ms`)
    assert.ok(p95 < 300, `pages took ${p95} ms`)
    assert.ok(reloadingP99 < idleP99 * 1.1, `the p99 of callers went from ${idleP99} to ${reloadingP99} ms`)
    await history.server.assertNoOpenHolds()
  })
})
