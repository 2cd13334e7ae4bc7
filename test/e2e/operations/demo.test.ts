// @backend both (cluster in long runs)
/** The demo data of a first start: complete even after an interrupted start. */

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { startRelay, type RelayProcess } from '../../support/server/relay-process.ts'
import { executeSql } from '../../support/server/database-access.ts'
import { waitUntil } from '../../support/wait.ts'

interface DemoRelay {
  readonly relay: RelayProcess
  readonly key: string
}

/** Starts a relay with the default for DEMO, and reads the key from the curl command that it prints. */
async function startWithDemo(t: TestContext, dataDir: string): Promise<DemoRelay> {
  const relay = await startRelay({ dataDir, env: { DEMO: '' } })
  t.after(() => relay.kill())
  const curl = await waitUntil(() => relay.lines.find((line) => line.startsWith('curl -N ')))
  return { relay, key: /Bearer (sk-\w+-\w+)/.exec(curl)?.[1] ?? '' }
}

async function getJson(relay: RelayProcess, path: string, key: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${relay.url}/v1${path}`, { headers: { authorization: `Bearer ${key}` } })
  assert.equal(response.status, 200)
  return (await response.json()) as Record<string, unknown>
}

async function listModels({ relay, key }: DemoRelay): Promise<string[]> {
  const { data } = await getJson(relay, '/models', key)
  return (data as { id: string }[]).map(({ id }) => id)
}

describe('Demo data', () => {
  test('Interrupted first start – is completed by the next: all models, one key, one credit', async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'sluice-demo-'))
    t.after(() => rm(dataDir, { recursive: true, force: true }))
    const first = await startWithDemo(t, dataDir)
    const models = await listModels(first)
    await first.relay.kill()

    // The state with half of the models, the account and a key, before the secret of the key is stored.
    await executeSql(first.relay, `DELETE FROM settings WHERE name = 'demo_key'`)
    for (const table of ['routes', 'prices'])
      await executeSql(first.relay, `DELETE FROM ${table} WHERE model_id LIKE 'family%'`)
    await executeSql(first.relay, `DELETE FROM models WHERE id LIKE 'family%'`)

    const second = await startWithDemo(t, dataDir)
    assert.deepEqual(await listModels(second), models)
    assert.equal((await getJson(second.relay, '/balance', second.key))['balance'], '10')
    const { data: accounts } = await second.relay.admin<{ data: { id: string }[] }>('GET', '/accounts')
    assert.equal(accounts.length, 1)
    const { data: keys } = await second.relay.admin<{ data: object[] }>(
      'GET',
      `/accounts/${accounts[0]?.id}/keys`,
    )
    assert.equal(keys.length, 1)
  })
})
