// @backend both (cluster in long runs)
/** The one-time links that create operators: printed at the start, or by `sluice admin link`. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readSetUpToken, redeemSetUpLink } from '../../support/console/console-session.ts'
import { commandLineFor } from '../../support/server/command-line.ts'
import { startTestServer } from '../../support/server/test-server.ts'

interface Link {
  url: string
  expires_at: string
}

describe('Operator set-up links', () => {
  test('Link of admin link – creates one operator and invalidates earlier links', async (t) => {
    const server = await startTestServer(t)
    const printed = readSetUpToken(server)
    const command = commandLineFor(server.relay)
    const { url } = await command.json<Link>(['admin', 'link'])
    assert.ok(url.startsWith(`${server.url.replace('127.0.0.1', 'localhost')}/console/set-up#`), url)
    assert.equal(await redeemSetUpLink(server, printed, 'early@example.com'), 404)
    const token = url.slice(url.indexOf('#') + 1)
    assert.equal(await redeemSetUpLink(server, token, 'boss@example.com'), 200)
    assert.equal(await redeemSetUpLink(server, token, 'late@example.com'), 404)
    await server.stop()
    assert.match(await command.output(['admin', 'link']), /Open this one-time link before .+\n\n {2}http/)
  })

  test('Printed link – stays valid over restarts, and is invalid once there is an operator', async (t) => {
    const server = await startTestServer(t)
    const first = readSetUpToken(server)
    await server.restart()
    const second = readSetUpToken(server)
    assert.notEqual(second, first)
    assert.equal(await redeemSetUpLink(server, first, 'boss@example.com'), 200)
    for (const token of [first, second])
      assert.equal(await redeemSetUpLink(server, token, 'late@example.com'), 404)
  })
})
