/** What a newcomer is given: a demonstration that is whole, whatever happened to the start that made it. */

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { startRelay, type RelayProcess } from './support/server/relay-process.ts'
import { tamperWith } from './support/server/database-access.ts'

interface Newcomer {
  readonly relay: RelayProcess
  readonly key: string
}

/** Starts as a newcomer does, with no word about a demonstration; the key of the curl that it prints. */
async function startNewcomer(t: TestContext, dataDir: string): Promise<Newcomer> {
  const relay = await startRelay({ dataDir, env: { DEMO: '' } })
  t.after(() => relay.kill())
  let curl: string | undefined
  for (const start = performance.now(); curl === undefined; await delay(20)) {
    curl = relay.lines.find((line) => line.startsWith('curl -N '))
    assert.ok(performance.now() - start < 60_000, 'no curl was printed')
  }
  return { relay, key: /Bearer (sk-\w+-\w+)/.exec(curl)?.[1] ?? '' }
}

async function answerTo(relay: RelayProcess, path: string, key: string): Promise<Record<string, unknown>> {
  const reply = await fetch(`${relay.url}/v1${path}`, { headers: { authorization: `Bearer ${key}` } })
  assert.equal(reply.status, 200)
  return (await reply.json()) as Record<string, unknown>
}

async function modelsFor({ relay, key }: Newcomer): Promise<string[]> {
  const { data } = await answerTo(relay, '/models', key)
  return (data as { id: string }[]).map(({ id }) => id)
}

test('a first start that was cut short is gone on with: the next has all models, one key and the credit once', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-demonstration-'))
  t.after(() => rm(dataDir, { recursive: true, force: true }))
  const first = await startNewcomer(t, dataDir)
  const models = await modelsFor(first)
  await first.relay.kill()

  // As it was when half of the models, the account and a key were there, and the key's secret was not yet kept.
  await tamperWith(first.relay, `DELETE FROM settings WHERE name = 'demo_key'`)
  for (const table of ['routes', 'prices'])
    await tamperWith(first.relay, `DELETE FROM ${table} WHERE model_id LIKE 'family%'`)
  await tamperWith(first.relay, `DELETE FROM models WHERE id LIKE 'family%'`)

  const second = await startNewcomer(t, dataDir)
  assert.deepEqual(await modelsFor(second), models)
  assert.equal((await answerTo(second.relay, '/balance', second.key))['balance'], '10')
  const { data: accounts } = await second.relay.admin<{ data: { id: string }[] }>('GET', '/accounts')
  assert.equal(accounts.length, 1)
  const { data: keys } = await second.relay.admin<{ data: object[] }>(
    'GET',
    `/accounts/${accounts[0]?.id}/keys`,
  )
  assert.equal(keys.length, 1)
})
