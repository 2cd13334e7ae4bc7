// @backend both (cluster in long runs)
// @suite all – starts a relay whose clock jumps
/** A clock that runs ahead or behind and comes back: a warning each time, and caps of the present day. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { dayEndOf } from '../../../src/ledger/periods.ts'
import { chatRequest } from '../../support/server/account.ts'
import { startTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const preload = new URL('../../support/server/preload/shifted-clock.ts', import.meta.url).href
const dayMs = 86_400_000
/** Costs ¥0.00402. */
const body = chatRequest('m', { max_tokens: 500 })
const timezone = 'America/New_York'

describe('Clock', () => {
  test('days ahead, behind and back – warns once each; the cap of a day is spent once', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-clock-'))
    const clockFile = join(folder, 'ahead-ms')
    const setClockAhead = (ms: number): void => writeFileSync(clockFile, String(ms))
    setClockAhead(0)
    const server = await startTestServer(t, {
      env: { NODE_OPTIONS: `--import=${preload}`, CLOCK_AHEAD_FILE: clockFile },
    })
    // After the relay, which reads it.
    t.after(() => rmSync(folder, { recursive: true }))
    await server.model('m', {
      upstreams: [await server.upstream(respondWith('Hello!', { input: 10, output: 500 }))],
      prices: ['0.002', '0.008'],
    })
    const account = await server.account({ balance: '1', timezone })
    await account.change({ caps: { daily: '0.0202' } })
    const jumps = (): string[] => server.log.filter((line) => line.includes('"clock jumped"'))
    /** The relay closes idle connections when the clock has jumped, and admits nothing for a moment. */
    const readResponse = async (): Promise<{ status: number; text: string } | null> => {
      const response = await account.post(body).catch(() => null)
      const text = (await response?.text()) ?? ''
      return response === null || response.status === 503 ? null : { status: response.status, text }
    }
    /** Sends requests until the cap is reached; returns how many were served, and the last error. */
    const spendCap = async (): Promise<[served: number, error: string]> => {
      for (let served = 0; ;) {
        const { status, text } = await waitUntil(readResponse, 'a response')
        if (status === 200) served += 1
        else return [served, text]
      }
    }
    for (let sent = 0; sent < 2; sent += 1) assert.equal((await account.post(body)).status, 200)

    /** In a cluster, the database's clock counts, which is right. */
    const isCluster = server.relay.databaseUrl !== undefined
    /** Sets the clock and sends requests until the cap is reached; returns how many were served, and the last error. */
    const spendAt = async (ahead: number): Promise<[served: number, error: string]> => {
      const before = jumps().length
      setClockAhead(ahead * dayMs)
      await waitUntil(() => jumps().length === before + 1)
      return spendCap()
    }
    const [servedAhead] = await spendAt(40)
    assert.equal(servedAhead, isCluster ? 3 : 5, 'the day that the clock shows has spent nothing')
    const [served, error] = await spendAt(0)
    assert.equal(served, isCluster ? 0 : 3, 'the cap is 5 requests, 2 of which were spent today')
    assert.ok(error.includes(new Date(dayEndOf(timezone, Date.now())).toISOString()), error)
    const spentToday = async (): Promise<string | undefined> =>
      (await account.state().catch(() => undefined))?.spent_today
    await waitUntil(async () => (await spentToday()) === '0.0201')
    const [forwards = '', back = ''] = jumps()
    assert.match(forwards, /"seconds":34(?:55999|56000|56001)/)
    assert.match(back, /"seconds":-34(?:55999|56000|56001)/)

    const [servedBehind] = await spendAt(-3)
    assert.equal(servedBehind, isCluster ? 0 : 5, 'the day that the clock shows has spent nothing')
    await server.restart()
    assert.equal((await spendAt(0))[0], 0, 'the cap of today is spent, also after a restart in another day')
    assert.equal(jumps().length, 4)
  })
})
