import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { checkDirectory } from './doctor/machine.ts'
import type { Finding } from './doctor/finding.ts'

const [relayUser, stranger] = [1000, 1001]
const module = new URL('./doctor/machine.ts', import.meta.url).href
const script = `import { checkDirectory } from ${JSON.stringify(module)}
process.stdout.write(JSON.stringify(checkDirectory(process.argv[1])))`

/** What the doctor tells the user of the relay; null where that user may not read these sources. */
function toldTo(user: number, dataDir: string): Finding | null {
  const words = ['--input-type=module', '--eval', script, dataDir]
  const { status, stdout } = spawnSync(process.execPath, words, { uid: user, gid: user, encoding: 'utf8' })
  return status === 0 ? (JSON.parse(stdout) as Finding) : null
}

function mayBecome(user: number): boolean {
  return process.getuid?.() === 0 && toldTo(user, '/nowhere') !== null
}

const skip = mayBecome(relayUser)
  ? false
  : 'only on some machines: it takes root, and sources that others may read'

/** A volume as Kubernetes hands it over with `fsGroup`. */
function volume(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'sluice-volume-'))
  t.after(() => rmSync(path, { recursive: true }))
  chownSync(path, 0, relayUser)
  chmodSync(path, 0o2775)
  mkdirSync(join(path, 'lost+found'), 0o700)
  return path
}

function fileOf(user: number, dataDir: string): void {
  const path = join(dataDir, `of-${user}`)
  writeFileSync(path, '', { mode: 0o600 })
  chownSync(path, user, relayUser)
}

test('a volume of somebody else in which files belong to this user is right', { skip }, (t) => {
  const dataDir = volume(t)
  assert.equal(toldTo(relayUser, dataDir)?.state, 'ok', 'before the first start')
  fileOf(relayUser, dataDir)
  assert.equal(toldTo(relayUser, dataDir)?.state, 'ok')
  assert.equal(toldTo(stranger, dataDir)?.state, 'fail')
  chmodSync(dataDir, 0o2777)
  assert.match(toldTo(relayUser, dataDir)?.detail ?? '', /is open to others/)
  chmodSync(dataDir, 0o2775)
  fileOf(stranger, dataDir)
  const { state, detail } = toldTo(relayUser, dataDir) ?? {}
  assert.deepEqual([state, detail], ['warn', `${dataDir} has files of user 1001, and this is user 1000`])
})

test('root is warned off the directory of another user, unless its files are root’s', { skip }, (t) => {
  const dataDir = volume(t)
  chownSync(dataDir, relayUser, relayUser)
  assert.equal(checkDirectory(dataDir).state, 'warn', 'before the first start')
  fileOf(0, dataDir)
  assert.equal(checkDirectory(dataDir).state, 'ok')
  fileOf(relayUser, dataDir)
  assert.equal(checkDirectory(dataDir).state, 'warn')
})
