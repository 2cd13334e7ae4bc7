// @backend sqlite – starts of relays with other settings; test/cluster/currency.test.ts covers PostgreSQL
/** The platform's currency: chosen at the first start, in every amount, and never changed. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { createTemporaryDir } from '../../../src/db/store.fixture.ts'
import { chatRequest } from '../../support/server/account.ts'
import { CommandLine, commandLineFor } from '../../support/server/command-line.ts'
import { startRelay } from '../../support/server/relay-process.ts'
import { startTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const differs = (configured: string, stored: string): RegExp =>
  new RegExp(`CURRENCY is ${configured}, but the amounts of this installation are in ${stored}`)

async function readText(response: Response | Promise<Response>): Promise<string> {
  return (await response).text()
}

describe('Currency', () => {
  test('USD at the first start – is the currency of every amount', async (t) => {
    const server = await startTestServer(t, { env: { CURRENCY: 'USD' } })
    const upstream = await server.upstream(respondWith('Hi!', { input: 1000, output: 1000 }))
    await server.model('m', { upstreams: [upstream], prices: ['0.002', '0.002'] })
    const account = await server.account({ balance: '5' })
    assert.equal((await account.post(chatRequest('m'))).status, 200)
    assert.equal(await account.balance(), '4.996')
    const [request] = await server.requests({ account: account.id })
    assert.ok(request)
    const session = await readText(fetch(`${server.url}/api/console/session`))
    for (const shown of [
      await readText(account.get('/v1/balance')),
      await readText(account.get('/v1/models')),
      await readText(account.get('/v1/models/m')),
      await readText(account.get(`/v1/requests/${request.request_id}`)),
      JSON.stringify(await server.admin('GET', `/accounts/${account.id}`)),
      JSON.stringify(await server.admin('GET', '/dashboard')),
      JSON.stringify(await server.admin('GET', '/usage?group=model')),
      session,
    ]) {
      assert.match(shown, /"currency":"USD"/)
      assert.doesNotMatch(shown, /CNY/)
    }
    const sluice = commandLineFor(server.relay)
    assert.match(await sluice.output(['requests', 'export']), /,USD,/)
    assert.match(await sluice.output(['seed', '--from', 'openai']), /Prices are in USD per 1,000 tokens/)
    assert.match(await sluice.expectFailure(['seed']), /the price of one CNY in USD/)
    const seeded = await sluice.output(['seed', '--rate', '0.14', '--only', 'family-a-small'])
    assert.match(seeded, /family-a-small .* 0\.00028 +0\.00028 /)
    const { findings } = await sluice.json<{ findings: object[] }>(['doctor', '--no-calls'])
    assert.ok(findings.some((each) => 'detail' in each && each.detail === 'amounts are in USD'))
    const metrics = await readText(fetch(`${server.url}/metrics`))
    assert.match(metrics, /^sluice_overrun_total\{currency="USD"\} 0$/m)
    assert.doesNotMatch(metrics, /sluice_\w+_yuan/)
    await server.assertNoOpenHolds()
  })

  test('another value later – refuses the start and names both', async (t) => {
    const server = await startTestServer(t, { env: { CURRENCY: 'JPY' } })
    await server.stop()
    await assert.rejects(server.restart({ CURRENCY: 'EUR' }), differs('EUR', 'JPY'))
    await assert.rejects(server.restart({ CURRENCY: 'usd' }), /Invalid CURRENCY: must be a code of ISO 4217/)
    await server.restart({ CURRENCY: '' })
    const { data } = await server.admin<{ data: { env: string; value: string }[] }>('GET', '/settings')
    assert.equal(data.find(({ env }) => env === 'CURRENCY')?.value, 'JPY')
    const amounts = { BANK_TRANSFER: 'Bank', BANK_ACCOUNT: '1', PAYMENT_MIN: '0.5' }
    const doctor = await commandLineFor(server.relay, amounts).run(['doctor', '--no-calls'])
    assert.match(doctor.output, /Invalid PAYMENT_MIN: has more decimals than JPY, the currency of bank/)
  })

  test('backup – carries the currency to where it is restored', async (t) => {
    const server = await startTestServer(t, { env: { CURRENCY: 'USD' } })
    const backup = join(createTemporaryDir(t), 'backup')
    await commandLineFor(server.relay).output(['backup', backup])
    const dataDir = join(createTemporaryDir(t), 'restored')
    await new CommandLine(dataDir).output(['restore', backup])
    const alone = { dataDir, env: { DATABASE_URL: '', CURRENCY: 'CNY' } }
    await assert.rejects(startRelay(alone), differs('CNY', 'USD'))
  })
})
