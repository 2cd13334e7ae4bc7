// @backend sqlite – changes the file of an earlier release
/** Data of releases before the currency could be chosen. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'

import { migrations } from '../../../src/db/migrations/migrations.ts'
import { startTestServer } from '../../support/server/test-server.ts'

describe('Currency of an earlier release', () => {
  test('its data directory – starts as CNY and refuses USD', async (t) => {
    const server = await startTestServer(t)
    const account = await server.account({ balance: '5' })
    await server.stop()
    const migration = migrations.find(({ name }) => name === 'currency') ?? assert.fail()
    const database = new DatabaseSync(join(server.dataDir, 'sluice.db'))
    database.exec("delete from settings where name = 'currency'")
    database.exec(migration.ddl)
    database.close()
    const refused = /CURRENCY is USD, but the amounts of this installation are in CNY/
    await assert.rejects(server.restart({ CURRENCY: 'USD' }), refused)
    await server.restart()
    assert.partialDeepStrictEqual(await (await account.get('/v1/balance')).json(), {
      currency: 'CNY',
      balance: '5',
    })
    await server.assertNoOpenHolds()
  })
})
