import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createTemporaryDir } from '../db/store.fixture.ts'
import { createDraft } from './draft.ts'

/** The user `nobody`: root could write everywhere. */
const unprivileged = 65_534

describe('createDraft', () => {
  test('folder without write permission – is named in the error', (t) => {
    const parent = createTemporaryDir(t)
    chmodSync(parent, 0o555)
    const own = process.geteuid?.()
    if (own === 0) process.seteuid?.(unprivileged)
    try {
      assert.throws(() => createDraft(join(parent, 'copy')), {
        message: `No permission to create a backup folder in ${parent}.`,
      })
    } finally {
      if (own === 0) process.seteuid?.(own)
    }
  })
})
