// @backend sqlite – the disk of the embedded database
// @suite all – starts a relay on a small file system
/** The status page, incidents and availability while the disk is full, and when there is space again. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { commandLineFor } from '../../support/server/command-line.ts'
import { startRelay } from '../../support/server/relay-process.ts'
import { fillDisk, mountSmallDisk } from '../../support/server/small-disk.ts'
import { readRelayApi, readStatus, rejectRequests } from '../../support/server/status.ts'
import { TestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { scriptedDelay, waitUntil } from '../../support/wait.ts'

interface Incident {
  id: string
  title: string
  automatic: boolean
  opened_at: string
  closed_at: string | null
}

interface Notification {
  code: string
  params: { model?: string }
}

const title = 'Relay API: requests are rejected'

describe('Full disk', () => {
  test('Relay API – is down with an incident at once; rejections count as failures', async (t) => {
    const opened: TestServer[] = []
    // Before the disk is unmounted.
    t.after(() => Promise.all(opened.map((one) => one.close())))
    const disk = mountSmallDisk(t)
    if (disk === null) return t.skip('requires the right to mount a file system')
    const env = { INCIDENT_RECOVERY: '1s' }
    const server = new TestServer(await startRelay({ dataDir: join(disk, 'data'), env }), { env })
    opened.push(server)
    await server.model('m', { upstreams: [await server.upstream(respondWith('Hello!'))] })
    const account = await server.account({ balance: '1' })
    for (let sent = 0; sent < 5; sent += 1) await (await account.post(chatRequest('m'))).text()
    assert.equal((await readStatus(server.url)).state, 'up')

    const freeDisk = fillDisk(disk)
    // Responses wait for their commit, which needs space.
    const waiting: Promise<Response>[] = []
    while ((await fetch(`${server.url}/readyz`)).status === 200) {
      waiting.push(account.post(chatRequest('m')))
      await scriptedDelay(50)
    }
    const { output } = await commandLineFor(server.relay).run(['doctor', '--no-calls'])
    assert.match(output, /^warn +port +.* not ready \(503\): the database in \S+ accepts no commits$/m)
    await rejectRequests(account, 40)
    await waitUntil(async () => (await readStatus(server.url)).incidents.length > 0)
    const { state, components, models, incidents } = await readStatus(server.url)
    assert.deepEqual([state, models[0]?.state], ['down', 'down'])
    assert.deepEqual([components[0]?.name, components[0]?.state], ['Relay API', 'down'])
    assert.deepEqual([incidents[0]?.title, incidents[0]?.models, incidents[0]?.closed_at], [title, [], null])
    const chinese = await (await fetch(`${server.url}/status?lang=zh-CN`)).text()
    assert.match(chinese, /API 服务异常，无法受理请求/)
    const listIncidents = async (): Promise<Incident[]> =>
      (await server.admin<{ data: Incident[] }>('GET', '/incidents')).data
    const [current] = await listIncidents()
    assert.deepEqual([current?.id, current?.title], [incidents[0]?.id, title])

    // They end after 30 s, each with a line in the log although it is not charged yet.
    const ended = await Promise.all(waiting)
    for (const response of ended) await response.text()
    // The first ones may have found space in the database.
    const ids = ended.flatMap(({ status, headers }) => (status === 200 ? [] : [headers.get('x-request-id')]))
    assert.ok(ids.length > 0)
    const linesOf = (id: string | null) => server.log.filter((line) => line.includes(`"${id}"`))
    await waitUntil(() => ids.every((id) => linesOf(id).length > 0))
    const lines = ids.flatMap(linesOf).filter((line) => line.includes('"msg":"request"'))
    assert.ok(lines.length > 0 && lines.length <= ids.length, lines.join('\n'))
    for (const line of lines) {
      const { status, outcome, settled, cost } = JSON.parse(line) as Record<string, unknown>
      assert.deepEqual([status, outcome, settled, cost], [503, 'failed', false, undefined])
    }
    freeDisk()
    await waitUntil(async () => ((await listIncidents())[0]?.closed_at ?? null) !== null)
    const [closed, ...others] = await listIncidents()
    assert.deepEqual([closed?.id, closed?.opened_at, others], [current?.id, current?.opened_at, []])
    await waitUntil(async () => (await readRelayApi(server)).total.failed >= 40)
    const { total, month } = await readRelayApi(server)
    const percent = (100 * total.answered) / (total.answered + total.failed)
    assert.ok(Math.abs((total.success_percent ?? 100) - percent) < 0.001)
    assert.ok(total.answered <= 5 + waiting.length, `${total.answered} requests were served`)
    assert.deepEqual(month.failed, total.failed)
    await waitUntil(async () => (await readStatus(server.url)).state === 'up')
    const shown = (await readStatus(server.url)).components[0]?.success_percent ?? 100
    assert.ok(shown <= percent, `the status page shows ${shown} %`)

    const path = '/notices?audience=operator&limit=1000'
    const { data } = await server.admin<{ data: Notification[] }>('GET', path)
    assert.deepEqual(data.map(({ code }) => code).toSorted(), ['relay_failing', 'relay_well'])
    assert.ok(data.every(({ params }) => params.model === undefined))
  })
})
