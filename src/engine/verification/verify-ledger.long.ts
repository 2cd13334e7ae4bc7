/** A million entries are verified within ten seconds on two cores: as written under load, and one request at a time. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { databaseFileName } from '../../db/sqlite/store.ts'
import { writeLargeLedger } from './large-ledger.fixture.ts'
import { verifyInThread } from './verify-thread.ts'

const requests = Number(process.env['LEDGER_REQUESTS'] ?? '1000000')
/** CPU time, because other processes may use the two cores as well. */
const withinMs = (requests / 1_000_000) * 2 * 10_000

describe('verifyInThread', () => {
  for (const [commits, perCommit, isBound] of [
    ['as under load', 16, true],
    ['of one request at a time, two commits each', 1, false],
  ] as const) {
    test(`${requests} requests in commits ${commits} – are verified in time`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'sluice-large-'))
      t.after(() => rmSync(folder, { recursive: true }))
      const path = join(folder, databaseFileName)
      await writeLargeLedger(path, { requests, perCommit })
      const startedMs = performance.now()
      const used = process.cpuUsage()
      const { ok, entries, drift } = await verifyInThread(path)
      const { user, system } = process.cpuUsage(used)
      const [tookMs, cpuMs] = [performance.now() - startedMs, (user + system) / 1000]
      const seconds = `${(tookMs / 1000).toFixed(1)} s, ${(cpuMs / 1000).toFixed(1)} s CPU time`
      t.diagnostic(`${entries} entries in ${seconds}`)
      assert.deepEqual({ ok, drift }, { ok: true, drift: 0n })
      assert.ok(entries > requests)
      if (isBound) assert.ok(cpuMs < withinMs, seconds)
    })
  }
})
