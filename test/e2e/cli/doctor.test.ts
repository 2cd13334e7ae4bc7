// @backend both (cluster in long runs)
/** `sluice doctor`: its checks of upstreams and of hardening. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { commandLineFor } from '../../support/server/command-line.ts'
import { startTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

describe('sluice doctor', () => {
  test('Upstreams – are checked with the relay running and stopped', async (t) => {
    const server = await startTestServer(t)
    const sluice = commandLineFor(server.relay)
    const upstream = await server.upstream(respondWith('Hi!'))
    await server.model('m', { upstreams: [upstream] })

    await t.test('doctor – reports an upstream that cannot be called and checks the others', async () => {
      const { id, name } = await server.upstreamAt('http://127.0.0.1:9', { provider: 'azure' })
      const output = await sluice.output(['doctor'])
      assert.match(output, new RegExp(`^warn +upstream ${name} .*no model has a route to it`, 'm'))
      assert.match(output, new RegExp(`^ok +upstream ${upstream.name} .*The upstream responded`, 'm'))
      await server.admin('DELETE', `/upstreams/${id}`)
    })

    await t.test('doctor – lists hardening that is off: of settings and of the running relay', async () => {
      const output = await sluice.output(['doctor', '--no-calls'])
      assert.match(
        output,
        /^warn +hardening +NODE_ENV is not production: .*\n +→ Set NODE_ENV=production\.$/m,
      )
      const status = readFileSync(`/proc/${server.relay.pid}/status`, 'utf8')
      assert.equal(
        /^warn +hardening +the relay can gain privileges/m.test(output),
        /^NoNewPrivs:\t0$/m.test(status),
        output,
      )
      assert.doesNotMatch(output, /is checked while it runs/)
    })

    await t.test('doctor – makes one request to each upstream, and none with --no-calls', async () => {
      const before = upstream.requests.length
      await sluice.output(['doctor', '--no-calls'])
      assert.equal(upstream.requests.length, before)
      const output = await sluice.output(['doctor'])
      assert.equal(upstream.requests.length, before + 1, output)
      await server.admin('PATCH', '/models/m', { listed: false })
      await server.stop()
      assert.match(
        await sluice.output(['doctor', '--no-calls']),
        /^ok +hardening .* is checked while it runs/m,
      )
      assert.equal(upstream.requests.length, before + 1)
      await sluice.output(['doctor'])
      assert.equal(upstream.requests.length, before + 2)
    })
  })
})
