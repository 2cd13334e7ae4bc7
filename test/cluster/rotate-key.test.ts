// @backend postgres – starts its own cluster
// @suite all – restarts two nodes
/** A rotation of the encryption key of a running cluster. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { requestControl } from '../../src/process/control-socket.fixture.ts'
import type { RotationStep } from '../../src/process/key-rotation/key-rotation.ts'
import { chatRequest } from '../support/server/account.ts'
import { addModel, startCluster, waitUntilServed } from '../support/server/cluster.ts'
import { CommandLine } from '../support/server/command-line.ts'
import type { RelayProcess } from '../support/server/relay-process.ts'

const before = { ENCRYPTION_KEY: 'the first passphrase' }
const both = { ENCRYPTION_KEY: 'the second passphrase', ENCRYPTION_KEY_PREVIOUS: 'the first passphrase' }

async function step({ dataDir }: RelayProcess, body: object): Promise<RotationStep> {
  const path = '/api/admin/rotate-key'
  const { status, text } = await requestControl(dataDir, { method: 'POST', path, body })
  assert.equal(status, 200, text)
  return JSON.parse(text) as RotationStep
}

describe('sluice rotate-key in a cluster', () => {
  test(
    'Rotation – all nodes serve throughout, and it waits for a node without the new key',
    { skip: postgresSkipReason },
    async (t) => {
      const cluster = await startCluster(t, 2, before)
      const { server, nodes } = cluster
      const upstream = await addModel(cluster)
      const account = await server.account({ balance: '1' })
      await waitUntilServed(cluster, account.key.secret)
      const send = async ({ url }: RelayProcess, key: string): Promise<string> => {
        const headers = {
          authorization: `Bearer ${account.key.secret}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        }
        const body = JSON.stringify(chatRequest('m'))
        const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
        const text = await response.text()
        assert.equal(response.status, 200, text)
        return text
      }
      /** What one node stores, every node replays, with one call of the upstream. */
      const assertShared = async (key: string): Promise<void> => {
        const calls = upstream.requests.length
        const texts: string[] = []
        for (const node of [...nodes, ...nodes]) texts.push(await send(node, key))
        assert.equal(new Set(texts).size, 1)
        assert.equal(upstream.requests.length, calls + 1)
      }
      await assertShared('before')
      const [first] = nodes
      assert.ok(first)
      await first.stop()
      const rotating = await cluster.restartNode(0, both)
      let state = await step(rotating, { begin: true })
      while (!/was started without the new ENCRYPTION_KEY/.test(state.waiting ?? '')) {
        assert.notEqual(state.phase, 'finished')
        state = await step(rotating, state.next === null ? {} : { position: state.next })
      }
      await assertShared('meanwhile')
      await nodes[1]?.kill()
      await cluster.restartNode(1, both)
      const env = { ...rotating.clusterSettings, ...both }
      const sluice = new CommandLine(rotating.dataDir, env)
      assert.match(await sluice.output(['rotate-key']), /ENCRYPTION_KEY_PREVIOUS can be removed/)
      await assertShared('afterwards')
      for (const index of [0, 1]) {
        await nodes[index]?.stop()
        await cluster.restartNode(index, { ENCRYPTION_KEY: both.ENCRYPTION_KEY })
      }
      const calls = upstream.requests.length
      for (const node of nodes) for (const key of ['before', 'meanwhile', 'afterwards']) await send(node, key)
      assert.equal(upstream.requests.length, calls)
      await server.assertNoOpenHolds()
    },
  )
})
