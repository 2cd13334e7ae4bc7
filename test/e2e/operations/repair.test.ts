// @backend both
// @suite all – a dozen commands, each of which opens the store
/** Data of earlier releases with text that the store cannot keep: `sluice repair` makes it consistent again. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { writeInvalidText } from '../../../src/engine/invalid-text.fixture.ts'
import { expectResponse, type List } from '../../support/client/admin-api.ts'
import { chatRequest } from '../../support/server/account.ts'
import { CommandLine, commandLineFor } from '../../support/server/command-line.ts'
import { readDatabaseBytes } from '../../support/server/database-access.ts'
import { startTestServer, type TestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

interface Repair {
  readonly applied: boolean
  readonly texts: readonly Record<string, string>[]
  readonly rehashed: number
  readonly ledger: { readonly ok: boolean; readonly entries: number } | null
}

const halfCharacter = 'thank you \ud83d'

/** A stopped relay with requests before and after a credit of an earlier release. */
async function serveAndStop(server: TestServer): Promise<{ readonly path: string; readonly credit: object }> {
  const upstream = await server.upstream(respondWith('Hi!'))
  await server.model('small', { upstreams: [upstream] })
  const account = await server.account({ balance: '1' })
  const path = `/accounts/${account.id}/credits`
  const credit = { amount: '2', reason: 'REASON', idempotency_key: 'KEY' }
  for (const body of [credit, { ...credit, reason: 'valid', idempotency_key: 'other' }]) {
    await expectResponse(server, 201, ['POST', path, body])
    assert.equal((await account.post(chatRequest('small'))).status, 200)
  }
  assert.equal((await server.stop()).code, 0)
  const { dataDir, databaseUrl } = server.relay
  await writeInvalidText({ dataDir, databaseUrl }, { REASON: halfCharacter, KEY: 'zero\0byte' })
  return { path, credit }
}

async function expectBackup(server: TestServer, isPossible: boolean): Promise<void> {
  const folder = `${server.dataDir}-backup`
  const { code } = await commandLineFor(server.relay).run(['backup', folder])
  assert.equal(code, isPossible ? 0 : 1)
  await rm(folder, { recursive: true, force: true })
}

describe('sluice repair', () => {
  test('ledger of an earlier release – lists, then repairs; verify, backup and start work again', async (t) => {
    const server = await startTestServer(t)
    const { path, credit } = await serveAndStop(server)
    const sluice = commandLineFor(server.relay)
    const isCluster = server.relay.databaseUrl !== undefined

    const verification = await sluice.run(['verify'])
    assert.equal(verification.code, 1)
    assert.match(verification.output, /differs in .*reason/)
    await expectBackup(server, false)

    const before = await readDatabaseBytes(server.relay)
    const found = await sluice.json<Repair>(['repair'])
    assert.deepEqual([found.applied, found.ledger], [false, null])
    const journal = found.texts.filter(({ table }) => table === 'journal')
    assert.deepEqual(
      journal.map(({ field, before: old, after }) => [field, old?.slice(-9), after?.slice(-9)]),
      [
        ['id', 'zero\0byte', 'zero\ufffdbyte'],
        ['reason', halfCharacter.slice(-9), 'hank you \ufffd'.slice(-9)],
      ],
    )
    assert.equal(found.texts.length, isCluster ? 2 : 3)
    const listed = await sluice.output(['repair'])
    assert.match(listed, /reason +thank you \\ud83d +thank you \\ufffd$/m)
    assert.match(listed, /Nothing was changed.* sluice repair --apply/)
    assert.deepEqual(await readDatabaseBytes(server.relay), before)

    const repaired = await sluice.json<Repair>(['repair', '--apply'])
    assert.deepEqual({ ...repaired, applied: false, ledger: null }, found)
    assert.deepEqual([repaired.applied, repaired.ledger?.ok], [true, true])
    assert.match(await sluice.output(['verify']), /^ledger +consistent$/m)
    await expectBackup(server, true)
    assert.match(await sluice.output(['repair', '--apply']), /^Nothing to repair/)

    await server.restart()
    await expectResponse(server, 201, ['POST', path, { ...credit, reason: 'a new one' }])
    const entries = await expectResponse<List>(server, 200, ['GET', path.replace('credits', 'entries')])
    assert.ok(entries.data.some((entry) => entry['reason'] === 'thank you \ufffd'))
    assert.match(await sluice.expectFailure(['repair', '--apply']), /in use by sluice serve/)
    assert.match(await sluice.output(['repair']), /^Nothing to repair/)
    if (isCluster) {
      const elsewhere = new CommandLine(`${server.dataDir}-other`, server.relay.clusterSettings)
      assert.match(await elsewhere.expectFailure(['repair', '--apply']), /Node .* runs/)
      await rm(`${server.dataDir}-other`, { recursive: true, force: true })
    }
  })
})
