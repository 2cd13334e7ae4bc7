/** Backups that a running relay makes: asked for over HTTP or by themselves, checked, taken away, put back. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { appendFile, copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { tryFileLock } from '../src/db/sqlite/file-lock.ts'
import { question } from './support/server/account.ts'
import { eventually } from './support/client/responses.ts'
import { CommandLine } from './support/server/command-line.ts'
import { openHouse, type House } from './support/server/test-server.ts'
import { saying } from './support/upstream/scripted-responses.ts'

interface Backup {
  id: string
  state: string
  by: string | null
  bytes: number | null
  entries: number | null
  checked_at: string | null
  problem: string | null
}

async function paidHouse(t: TestContext, env: Record<string, string> = {}): Promise<House> {
  const house = await openHouse(t, { env })
  const upstream = await house.upstream(saying('Hi!', { input: 1000, output: 1000 }))
  await house.model('m', { upstreams: [upstream] })
  const account = await house.account({ balance: '1' })
  for (let calls = 0; calls < 3; calls += 1) await (await account.post(question('m'))).arrayBuffer()
  return house
}

/** Asks until nothing is under way any more. */
function settled(house: House, id: string): Promise<Backup> {
  return eventually(`the end of ${id}`, async () => {
    const backup = await house.admin<Backup>('GET', `/backups/${id}`)
    return ['making', 'checking'].includes(backup.state) ? undefined : backup
  })
}

function listed(house: House): Promise<{ data: Backup[] }> {
  return house.admin('GET', '/backups')
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-backups-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

test('a backup made over HTTP is whole, and its download comes back with the key that stayed at home', async (t) => {
  const house = await paidHouse(t)
  assert.deepEqual((await listed(house)).data, [])
  const begun = await house.admin<Backup>('POST', '/backups')
  assert.equal(begun.state, 'making')
  const made = await settled(house, begun.id)
  assert.partialDeepStrictEqual(made, { state: 'whole', by: 'admin-api', problem: null })
  assert.ok((made.bytes ?? 0) > 10_000 && (made.entries ?? 0) >= 4)
  assert.deepEqual((await listed(house)).data, [made])

  const headers = { authorization: `Bearer ${house.relay.adminKey}` }
  const reply = await fetch(`${house.url}/api/admin/backups/${made.id}/download`, { headers })
  const archive = Buffer.from(await reply.arrayBuffer())
  assert.equal(archive.length, Number(reply.headers.get('content-length')))
  const place = await folder(t)
  await writeFile(join(place, 'backup.tar'), archive)
  execFileSync('tar', ['-xf', 'backup.tar'], { cwd: place })
  const copy = join(place, made.id)
  assert.deepEqual((await readdir(copy)).toSorted(), ['manifest.json', 'sluice.db'])
  const elsewhere = new CommandLine(join(place, 'data'))
  assert.match(
    await elsewhere.failure(['restore', copy]),
    /sealing\.key is missing\. A download does not have it/,
  )
  await copyFile(join(house.dataDir, 'backups', made.id, 'sealing.key'), join(copy, 'sealing.key'))
  assert.match(await elsewhere.output(['restore', copy]), /is as it was at/)

  const { data: trail } = await house.admin<{ data: { action: string }[] }>('GET', `/audit?object=${made.id}`)
  assert.deepEqual(
    trail.map(({ action }) => action),
    ['backup.download', 'backup.make'],
  )
  await house.nothingHeld()
})

test('a damaged backup is found by its check, told so, and can be deleted', async (t) => {
  const house = await paidHouse(t)
  const { id } = await house.admin<Backup>('POST', '/backups')
  const made = await settled(house, id)
  await house.admin('POST', `/backups/${id}/check`)
  const checked = await settled(house, id)
  assert.equal(checked.state, 'whole')
  assert.ok(Date.parse(checked.checked_at ?? '') > Date.parse(made.checked_at ?? ''))
  await appendFile(join(house.dataDir, 'backups', id, 'sluice.db'), 'x')
  await house.admin('POST', `/backups/${id}/check`)
  const damaged = await settled(house, id)
  assert.equal(damaged.state, 'damaged')
  assert.match(damaged.problem ?? '', /is not what the manifest says/)
  for (const name of ['..', '%2e%2e', '..%2f..%2fetc', 'none']) {
    for (const [method, path] of [
      ['GET', `/backups/${name}/download`],
      ['POST', `/backups/${name}/check`],
      ['DELETE', `/backups/${name}`],
    ] as const) {
      await assert.rejects(house.admin(method, path), /404|405/, `${method} ${path}`)
    }
  }
  await house.admin('DELETE', `/backups/${id}`)
  assert.deepEqual((await listed(house)).data, [])
  assert.deepEqual(await readdir(join(house.dataDir, 'backups')), ['lock.db'])
  const lock = tryFileLock(join(house.dataDir, 'backups', 'lock.db'), 0)
  await assert.rejects(house.admin('POST', '/backups'), /409.*Another node is making a backup/)
  lock?.release()
  await writeFile(join(house.dataDir, 'file'), '')
  await house.restart({ BACKUP_DIR: join(house.dataDir, 'file', 'backups') })
  await assert.rejects(house.admin('POST', '/backups'), /409/)
  await house.nothingHeld()
})

test('backups are made by themselves, the oldest go, and those that somebody asked for stay', async (t) => {
  const house = await paidHouse(t)
  const asked = await house.admin<Backup>('POST', '/backups')
  await settled(house, asked.id)
  await house.restart({ BACKUP_EVERY: '1s', BACKUPS_KEPT: '2' })
  const seen = new Set<string>()
  await eventually('four backups made by themselves', async () => {
    for (const { id, by, state } of (await listed(house)).data)
      if (by === 'schedule' && state === 'whole') seen.add(id)
    return seen.size >= 4 ? true : undefined
  })
  const own = (await listed(house)).data.filter(({ by }) => by === 'schedule')
  assert.ok(own.length <= 4, `${own.length} are there`)
  assert.ok((await listed(house)).data.some(({ id }) => id === asked.id))
  await house.nothingHeld()
})
