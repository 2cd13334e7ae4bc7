// @backend both (cluster in long runs)
// @suite all – some twenty commands, each of which opens the store
/** The command line with the relay stopped. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { commandLineFor } from '../../support/server/command-line.ts'
import {
  administer,
  chat,
  inspect,
  removeAll,
  startUpstream,
} from '../../support/server/command-line-setup.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()

describe('Command line', () => {
  test('Administration with the relay stopped – applies at the next start', async (t) => {
    const upstream = await server.upstream(respondWith('Hi!'))
    await server.model('removed', { upstreams: [upstream] })
    const { id, key } = await server.account({ balance: '1' })
    const old = { upstream: upstream.name, model: 'removed', email: id, key: key.id, secret: key.secret }
    assert.equal(await chat(server.url, old), 200)
    await server.stop()
    const sluice = commandLineFor(server.relay)
    const setup = await administer(sluice, await startUpstream(t), 'stopped')
    await inspect(sluice, setup)
    assert.match(setup.diagnosis, /^ok +relay +not running/m)
    assert.match(await sluice.output(['verify']), /^ledger +consistent$/m)
    await removeAll(sluice, old)
    await server.restart()
    assert.equal(await chat(server.url, setup), 200)
    assert.equal(await chat(server.url, old), 401)
  })
})
