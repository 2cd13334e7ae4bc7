// @backend both (cluster in long runs)
/** Backups of a running relay: over HTTP or by schedule, checked, downloaded, restored. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { appendFile, copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { tryAcquireFileLock } from '../../../src/db/sqlite/file-lock.ts'
import { chatRequest } from '../../support/server/account.ts'
import { CommandLine } from '../../support/server/command-line.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

interface Backup {
  id: string
  state: string
  by: string | null
  bytes: number | null
  entries: number | null
  checked_at: string | null
  problem: string | null
}

const server = await sharedTestServer()
const upstream = await server.upstream(respondWith('Hi!', { input: 1000, output: 1000 }))
await server.model('m', { upstreams: [upstream] })
const account = await server.account({ balance: '1' })
for (let calls = 0; calls < 3; calls += 1) await (await account.post(chatRequest('m'))).arrayBuffer()

/** Waits until the backup is neither being made nor checked. */
function waitForBackup(id: string): Promise<Backup> {
  return waitUntil(async () => {
    const backup = await server.admin<Backup>('GET', `/backups/${id}`)
    return ['making', 'checking'].includes(backup.state) ? undefined : backup
  }, `the end of ${id}`)
}

function listBackups(): Promise<{ data: Backup[] }> {
  return server.admin('GET', '/backups')
}

async function createFolder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-backups-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

describe('Backup API', () => {
  test('Backup over HTTP – is complete, and its download restores with the key kept locally', async (t) => {
    assert.deepEqual((await listBackups()).data, [])
    const started = await server.admin<Backup>('POST', '/backups')
    assert.equal(started.state, 'making')
    const backup = await waitForBackup(started.id)
    assert.partialDeepStrictEqual(backup, { state: 'whole', by: 'admin-api', problem: null })
    assert.ok((backup.bytes ?? 0) > 10_000 && (backup.entries ?? 0) >= 4)
    assert.deepEqual((await listBackups()).data, [backup])

    const headers = { authorization: `Bearer ${server.relay.adminKey}` }
    const response = await fetch(`${server.url}/api/admin/backups/${backup.id}/download`, { headers })
    const archive = Buffer.from(await response.arrayBuffer())
    assert.equal(archive.length, Number(response.headers.get('content-length')))
    const folder = await createFolder(t)
    await writeFile(join(folder, 'backup.tar'), archive)
    execFileSync('tar', ['-xf', 'backup.tar'], { cwd: folder })
    const copy = join(folder, backup.id)
    assert.deepEqual((await readdir(copy)).toSorted(), ['manifest.json', 'sluice.db'])
    const elsewhere = new CommandLine(join(folder, 'data'))
    assert.match(
      await elsewhere.expectFailure(['restore', copy]),
      /sealing\.key is missing\. Downloads do not include it/,
    )
    await copyFile(join(server.dataDir, 'backups', backup.id, 'sealing.key'), join(copy, 'sealing.key'))
    assert.match(await elsewhere.output(['restore', copy]), /^Restored /)

    const { data: auditLog } = await server.admin<{ data: { action: string }[] }>(
      'GET',
      `/audit?object=${backup.id}`,
    )
    assert.deepEqual(
      auditLog.map(({ action }) => action),
      ['backup.download', 'backup.make'],
    )
    await server.admin('DELETE', `/backups/${backup.id}`)
  })

  test('Damaged backup – is detected by its check, reported, and can be deleted', async () => {
    const { id } = await server.admin<Backup>('POST', '/backups')
    const backup = await waitForBackup(id)
    await server.admin('POST', `/backups/${id}/check`)
    const checked = await waitForBackup(id)
    assert.equal(checked.state, 'whole')
    assert.ok(Date.parse(checked.checked_at ?? '') > Date.parse(backup.checked_at ?? ''))
    await appendFile(join(server.dataDir, 'backups', id, 'sluice.db'), 'x')
    await server.admin('POST', `/backups/${id}/check`)
    const damaged = await waitForBackup(id)
    assert.equal(damaged.state, 'damaged')
    assert.match(damaged.problem ?? '', /does not match the manifest/)
    const dashboard = await server.admin<{ failed_backup: object }>('GET', '/dashboard')
    assert.partialDeepStrictEqual(dashboard.failed_backup, { state: 'damaged' })
    for (const name of ['..', '%2e%2e', '..%2f..%2fetc', 'none']) {
      for (const [method, path] of [
        ['GET', `/backups/${name}/download`],
        ['POST', `/backups/${name}/check`],
        ['DELETE', `/backups/${name}`],
      ] as const) {
        await assert.rejects(server.admin(method, path), /404|405/, `${method} ${path}`)
      }
    }
    await server.admin('DELETE', `/backups/${id}`)
    assert.deepEqual((await listBackups()).data, [])
    assert.deepEqual(await readdir(join(server.dataDir, 'backups')), ['lock.db'])
    const lock = tryAcquireFileLock(join(server.dataDir, 'backups', 'lock.db'), 0)
    await assert.rejects(server.admin('POST', '/backups'), /409.*Another node is making a backup/)
    lock?.release()
    // A folder that cannot be created.
    await rm(join(server.dataDir, 'backups'), { recursive: true })
    await writeFile(join(server.dataDir, 'backups'), '')
    await assert.rejects(server.admin('POST', '/backups'), /409/)
    await rm(join(server.dataDir, 'backups'))
  })

  test('Scheduled backups – are pruned; manual backups are kept', async () => {
    const manual = await server.admin<Backup>('POST', '/backups')
    await waitForBackup(manual.id)
    await server.restart({ BACKUP_EVERY: '1s', BACKUPS_KEPT: '2' })
    const seen = new Set<string>()
    const scheduled = async (): Promise<Backup[]> =>
      (await listBackups()).data.filter(({ by }) => by === 'schedule')
    await waitUntil(async () => {
      const current = await scheduled()
      for (const { id, state } of current) if (state === 'whole') seen.add(id)
      return current.length < seen.size
    }, 'a pruned backup')
    assert.ok((await scheduled()).length <= 4, 'at most two, one in the making and one to be pruned')
    assert.ok((await listBackups()).data.some(({ id }) => id === manual.id))
  })
})
