// @backend both (cluster in long runs)
// @suite all – hundreds of connections
/** Callers that disconnect in every phase; test/long/abort-races.long.ts has more of them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runAbortRaces } from '../../long/abort-races.ts'
import { startTestServer } from '../../support/server/test-server.ts'

describe('Abort races', () => {
  test('240 calls aborted in every phase – lose no slot of two and hold nothing', async (t) => {
    // Another one in each run: when calls disconnect depends on the machine, too.
    const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000)
    t.diagnostic(`seed ${seed}`)
    const server = await startTestServer(t, { env: { WORKERS: '2' } })
    const { callsByPhase } = await runAbortRaces(server, { seed, calls: 240 })
    t.diagnostic(JSON.stringify(callsByPhase))
    for (const served of ['in the stream: 200', 'after the last byte: 200', 'during a replay: 200'])
      assert.ok((callsByPhase[served] ?? 0) > 0, served)
  })
})
