// @backend postgres – starts its own cluster
/** Every node of a cluster has the same currency, also after a move. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { createTemporaryDir } from '../../src/db/store.fixture.ts'
import { startCluster } from '../support/server/cluster.ts'
import { CommandLine } from '../support/server/command-line.ts'
import { startRelay } from '../support/server/relay-process.ts'

const refused = /CURRENCY is EUR, but the amounts of this installation are in USD/
const move = (from: string, to: string): string[] => ['move', '--from', from, '--to', to]

describe('Currency of a cluster', { skip: postgresSkipReason }, () => {
  test('a node with another value – is refused, naming both', async (t) => {
    const { server, url } = await startCluster(t, 1, { CURRENCY: 'USD' })
    const account = await server.account({ balance: '5' })
    assert.partialDeepStrictEqual(await (await account.get('/v1/balance')).json(), { currency: 'USD' })
    const env = { DATABASE_URL: url, CURRENCY: 'EUR' }
    await assert.rejects(startRelay({ dataDir: createTemporaryDir(t), env }), refused)
    await server.assertNoOpenHolds()
  })

  test('a move – carries the currency there and back', async (t) => {
    const { server, postgres, url } = await startCluster(t, 1, { CURRENCY: 'USD' })
    await server.stop()
    const dataDir = join(createTemporaryDir(t), 'alone')
    await new CommandLine(dataDir, { DATABASE_URL: url }).output(move('postgres', 'sqlite'))
    await assert.rejects(startRelay({ dataDir, env: { CURRENCY: 'EUR' } }), refused)
    const other = await postgres.createDatabase()
    await new CommandLine(dataDir, { DATABASE_URL: other }).output(move('sqlite', 'postgres'))
    const env = { DATABASE_URL: other, CURRENCY: 'EUR' }
    await assert.rejects(startRelay({ dataDir: createTemporaryDir(t), env }), refused)
  })
})
