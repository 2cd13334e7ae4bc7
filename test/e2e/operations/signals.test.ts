// @backend both (cluster in long runs)
// @suite all – starts a relay for each test
/** Signals that must not end the relay, a log file that is rotated, and a relay whose output nobody reads. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { chatRequest, readPayloads } from '../../support/server/account.ts'
import { streamedText } from '../../support/client/responses.ts'
import { RelayProcess, startRelay } from '../../support/server/relay-process.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { pauseAfter } from '../../support/upstream/fault-injection.ts'
import { numberedWords, respondWithDeltas } from '../../support/upstream/scripted-responses.ts'
import { freePort } from '../../support/upstream/unreachable-addresses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer()

/** A relay whose output loses its reader before the start ends. */
async function startWithoutReader(t: TestContext, env: Record<string, string> = {}): Promise<RelayProcess> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  const relay = new RelayProcess({ dataDir, env }, await freePort())
  t.after(async () => {
    await relay.kill()
    await rm(dataDir, { recursive: true, force: true })
  })
  relay.closeOutput()
  return relay
}

describe('Signals', () => {
  test('SIGHUP and SIGUSR1 – neither ends the relay nor a stream, nor opens a debugger', async () => {
    const resume = Promise.withResolvers<void>()
    const usage = { input: 100, output: 50 }
    const upstream = await server.upstream(pauseAfter(4, resume.promise, respondWithDeltas(50, usage)))
    await server.model('m', { upstreams: [upstream] })
    const account = await server.account({ balance: '1' })
    const response = await account.post(chatRequest('m', { stream: true }))
    for (const signal of ['SIGUSR1', 'SIGHUP'] as const) server.relay.signal(signal)
    await waitUntil(() => server.log.some((line) => line.includes('"msg":"SIGHUP: nothing to reload"')))
    resume.resolve()
    const payloads = await readPayloads(response)
    assert.equal(streamedText(payloads), numberedWords(50).join(''))
    assert.equal(payloads.at(-1), '[DONE]')
    assert.ok(!server.log.some((line) => line.includes('Debugger')))
  })
})

describe('Log file', () => {
  test('File that is copied and truncated – gets whole lines from its beginning', async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'sluice-test-'))
    t.after(() => rm(dataDir, { recursive: true, force: true }))
    const logFile = join(dataDir, 'sluice.log')
    const relay = await startRelay({ dataDir, logFile })
    t.after(() => relay.kill())
    await waitUntil(async () => (await stat(logFile)).size > 0)
    await truncate(logFile)
    await relay.stop()
    const messages = (await readFile(logFile, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { msg: string }).msg)
    assert.deepEqual(messages.slice(-2), ['draining', 'stopped'])
  })
})

describe('Output without a reader', () => {
  test('Reader that leaves during the start – the relay serves, and stops at SIGTERM', async (t) => {
    const relay = await startWithoutReader(t)
    await relay.ready()
    const { id } = await relay.admin<{ id: string }>('POST', '/accounts', { email: 'ann@example.com' })
    assert.equal((await relay.admin<{ id: string }>('GET', `/accounts/${id}`)).id, id)
    assert.deepEqual(await relay.stop(), { code: 0, signal: null })
  })

  test('Reader that leaves – a second SIGTERM ends the drain at once', async (t) => {
    const relay = await startWithoutReader(t, { DRAIN_DELAY: '600s' })
    await relay.ready()
    await waitUntil(() => {
      if (relay.isRunning) relay.signal('SIGTERM')
      return !relay.isRunning
    }, 'the end of the relay')
    assert.deepEqual(await relay.exited, { code: 130, signal: null })
  })

  test('Reader that leaves – a failed start ends with exit code 1', async (t) => {
    const relay = await startWithoutReader(t, { PORT: new URL(server.url).port })
    assert.deepEqual(await relay.exited, { code: 1, signal: null })
  })
})
