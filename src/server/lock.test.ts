import assert from 'node:assert/strict'
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { holderFileName, LockedError, takeLock } from './lock.ts'

const fixture = fileURLToPath(new URL('./lock.fixture.ts', import.meta.url))

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'sluice-lock-'))
  t.after(() => rmSync(path, { recursive: true }))
  return join(path, 'data')
}

async function otherHolder(
  t: TestContext,
  dataDir: string,
): Promise<ChildProcessByStdio<null, Readable, null>> {
  const child = spawn(process.execPath, ['--expose-gc', fixture, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

function refusal(dataDir: string): LockedError {
  try {
    takeLock(dataDir, { waitMs: 0 }).release()
  } catch (error) {
    if (error instanceof LockedError) return error
    throw error
  }
  return assert.fail('the lock was free')
}

// The holder in these tests keeps no reference to its lock and collects its garbage before it says that it has it.
test('a second process is told who holds the data directory and what to do', async (t) => {
  const dataDir = folder(t)
  const child = await otherHolder(t, dataDir)
  const { holder, message } = refusal(dataDir)
  assert.equal(holder?.pid, child.pid)
  assert.equal(holder?.host, hostname())
  assert.ok(message.includes(`pid ${child.pid} on ${hostname()}, since ${holder?.since}, version `), message)
  assert.match(message, /stop that one first, or set DATA_DIR/)
})

test('kill -9 of the holder frees the lock at once', async (t) => {
  const dataDir = folder(t)
  const child = await otherHolder(t, dataDir)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const lock = takeLock(dataDir, { waitMs: 0 })
  assert.equal(lock.holder.pid, process.pid)
  lock.release()
})

test('a process has the lock once, and again after it gave it back', (t) => {
  const dataDir = folder(t)
  const first = takeLock(dataDir, { command: 'restore' })
  assert.match(refusal(dataDir).message, /in use by sluice restore \(pid/)
  first.release()
  takeLock(dataDir, { waitMs: 0 }).release()
})

test('a lock given back twice is not taken from its next holder', (t) => {
  const dataDir = folder(t)
  const first = takeLock(dataDir)
  first.release()
  const second = takeLock(dataDir, { command: 'seed' })
  first.release()
  assert.match(refusal(dataDir).message, /sluice seed/)
  second.release()
})

test('a damaged note of the holder does not keep the refusal from being understood', (t) => {
  const dataDir = folder(t)
  const lock = takeLock(dataDir)
  writeFileSync(join(dataDir, holderFileName), '{"pid":')
  assert.match(refusal(dataDir).message, /in use by another process\./)
  lock.release()
})

test('the data directory and the lock are for their owner only', (t) => {
  const dataDir = folder(t)
  const lock = takeLock(dataDir)
  assert.equal(statSync(dataDir).mode & 0o777, 0o700)
  assert.equal(statSync(join(dataDir, 'lock.db')).mode & 0o777, 0o600)
  assert.equal(statSync(join(dataDir, holderFileName)).mode & 0o777, 0o600)
  lock.release()
})
