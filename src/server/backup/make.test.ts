import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDir } from '../../db/store.fixture.ts'
import { draftOf } from './make-backup.ts'

/** `nobody`: whoever is root may write everywhere. */
const unprivileged = 65_534

test('a backup to where its user may not write says which folder that is', (t) => {
  const place = temporaryDir(t)
  chmodSync(place, 0o555)
  const own = process.geteuid?.()
  if (own === 0) process.seteuid?.(unprivileged)
  try {
    assert.throws(() => draftOf(join(place, 'copy')), {
      message: `In ${place} this user may not make the folder of a backup.`,
    })
  } finally {
    if (own === 0) process.seteuid?.(own)
  }
})
