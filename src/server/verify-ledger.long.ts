/** A million entries, verified within ten seconds of two cores: as they come under load, and one request at a time. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { databaseFileName } from '../db/store.ts'
import { writeLedger } from './verification/large-ledger.fixture.ts'
import { verifyInThread } from './verify-thread.ts'

const requests = Number(process.env['LEDGER_REQUESTS'] ?? '1000000')
/** Of the processor, whose two cores others may be using as well. */
const withinMs = (requests / 1_000_000) * 2 * 10_000

for (const [words, perCommit, isBound] of [
  ['of commits under load', 16, true],
  ['of calls one at a time, two commits each', 1, false],
] as const) {
  test(`a ledger of ${requests} requests, ${words}, verifies`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-large-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const path = join(folder, databaseFileName)
    await writeLedger(path, { requests, perCommit })
    const startedMs = performance.now()
    const used = process.cpuUsage()
    const { ok, entries, drift } = await verifyInThread(path)
    const { user, system } = process.cpuUsage(used)
    const [tookMs, cpuMs] = [performance.now() - startedMs, (user + system) / 1000]
    const seconds = `${(tookMs / 1000).toFixed(1)} s, ${(cpuMs / 1000).toFixed(1)} s of the processor`
    t.diagnostic(`${entries} entries in ${seconds}`)
    assert.deepEqual({ ok, drift }, { ok: true, drift: 0n })
    assert.ok(entries > requests)
    if (isBound) assert.ok(cpuMs < withinMs, seconds)
  })
}
