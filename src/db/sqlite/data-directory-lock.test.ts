import assert from 'node:assert/strict'
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { describe, test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { holderFileName, lockFileName, DataDirLockedError, acquireLock } from './data-directory-lock.ts'

const fixture = fileURLToPath(new URL('./data-directory-lock.fixture.ts', import.meta.url))

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'sluice-lock-'))
  t.after(() => rmSync(path, { recursive: true }))
  return join(path, 'data')
}

async function startOtherHolder(
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

function lockedError(dataDir: string): DataDirLockedError {
  try {
    acquireLock(dataDir, { waitMs: 0 }).release()
  } catch (error) {
    if (error instanceof DataDirLockedError) return error
    throw error
  }
  return assert.fail('the lock was free')
}

describe('data directory lock', () => {
  // The holder in these tests keeps no reference to its lock, and collects garbage before it reports that it has it.
  test('second process – gets an error with the holder and what to do', async (t) => {
    const dataDir = folder(t)
    const child = await startOtherHolder(t, dataDir)
    const { holder, message } = lockedError(dataDir)
    assert.equal(holder?.pid, child.pid)
    assert.equal(holder?.host, hostname())
    assert.ok(
      message.includes(`pid ${child.pid} on ${hostname()}, since ${holder?.since}, version `),
      message,
    )
    assert.match(message, /Stop that process, or set DATA_DIR/)
  })

  test('directory or file that cannot be opened – is named with the reason', (t) => {
    const dataDir = folder(t)
    writeFileSync(dataDir, '')
    const path = dataDir.replaceAll('/', String.raw`\/`)
    assert.throws(
      () => acquireLock(dataDir),
      new RegExp(`Cannot use DATA_DIR \\(EEXIST: .*'${path}'\\)\\. Run`),
    )
    rmSync(dataDir)
    mkdirSync(join(dataDir, lockFileName), { recursive: true })
    assert.throws(() => acquireLock(dataDir), new RegExp(`Cannot open ${path}/${lockFileName} \\(unable to`))
  })

  test('kill -9 of the holder – frees the lock at once', async (t) => {
    const dataDir = folder(t)
    const child = await startOtherHolder(t, dataDir)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const lock = acquireLock(dataDir, { waitMs: 0 })
    assert.equal(lock.holder.pid, process.pid)
    lock.release()
  })

  test('one process – can acquire the lock again only after its release', (t) => {
    const dataDir = folder(t)
    const first = acquireLock(dataDir, { command: 'restore' })
    assert.match(lockedError(dataDir).message, /in use by sluice restore \(pid/)
    first.release()
    acquireLock(dataDir, { waitMs: 0 }).release()
  })

  test('second release – does not affect the next holder', (t) => {
    const dataDir = folder(t)
    const first = acquireLock(dataDir)
    first.release()
    const second = acquireLock(dataDir, { command: 'seed' })
    first.release()
    assert.match(lockedError(dataDir).message, /sluice seed/)
    second.release()
  })

  test('damaged holder file – the error is still clear', (t) => {
    const dataDir = folder(t)
    const lock = acquireLock(dataDir)
    writeFileSync(join(dataDir, holderFileName), '{"pid":')
    assert.match(lockedError(dataDir).message, /in use by another process\./)
    lock.release()
  })

  test('data directory and lock – are accessible only to their owner', (t) => {
    const dataDir = folder(t)
    const lock = acquireLock(dataDir)
    assert.equal(statSync(dataDir).mode & 0o777, 0o700)
    assert.equal(statSync(join(dataDir, 'lock.db')).mode & 0o777, 0o600)
    assert.equal(statSync(join(dataDir, holderFileName)).mode & 0o777, 0o600)
    lock.release()
  })
})
