/** A small file system of a test's own, to fill it. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

import { errorCode } from '../../../src/lib/error-message.ts'

/** A file system of 16 MiB; `null` if this user cannot mount one. */
export function mountSmallDisk(t: TestContext): string | null {
  const path = mkdtempSync(join(tmpdir(), 'sluice-disk-'))
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', path]).status === 0
  t.after(() => {
    if (isMounted) spawnSync('umount', ['--lazy', path])
    rmSync(path, { recursive: true, force: true })
  })
  return isMounted ? path : null
}

/** Writes a file until not a byte is left. The returned function deletes it. */
export function fillDisk(path: string): () => void {
  const filler = join(path, 'filler')
  const file = openSync(filler, 'w')
  for (const size of [1024 ** 2, 4096, 1]) {
    try {
      for (;;) writeSync(file, Buffer.alloc(size))
    } catch (error) {
      assert.equal(errorCode(error), 'ENOSPC')
    }
  }
  closeSync(file)
  return () => rmSync(filler)
}
