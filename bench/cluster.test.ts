// @suite all – starts PostgreSQL and three nodes
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { postgresSkipReason } from '../src/db/postgres/postgres.fixture.ts'
import { measureCluster } from './cluster.ts'

describe('the cluster benchmark', () => {
  test(
    'the cluster benchmark – holds and settles on one account, and the ledger verifies',
    { skip: postgresSkipReason },
    async (t) => {
      const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
      t.after(() => rmSync(directory, { recursive: true, force: true }))
      const run = await measureCluster(directory, 0.2, 1)
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
})
