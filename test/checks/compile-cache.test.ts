/** The compile cache that `npm ci` fills before the first start. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = new URL('../..', import.meta.url)

describe('Compile cache', () => {
  test('Installation – compiles the relay and its libraries and starts nothing', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-compiled-'))
    t.after(() => rm(folder, { recursive: true }))
    const env = { ...process.env, NODE_COMPILE_CACHE: folder }
    const { stdout, stderr } = await run(process.execPath, ['bin/warm-up.js'], { cwd: root, env })
    assert.deepEqual([stdout, stderr], ['', ''])
    const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((file) =>
      file.isFile(),
    )
    assert.ok(files.length > 300, `${files.length} files were compiled`)
  })
})
