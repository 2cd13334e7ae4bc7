/** `deploy/pin-images.sh`, with a registry that is played by a script. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { root } from '../support/source-files.ts'

/** A copy of the files, with a `docker` that answers with this text. */
function copyWithDocker(t: TestContext, answer: string): { folder: string; env: Record<string, string> } {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const file of ['compose.yaml', 'Dockerfile', 'deploy/pin-images.sh'])
    cpSync(join(root, file), join(folder, file), { recursive: true })
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin/docker'), `#!/bin/sh\necho '${answer}'\n`, { mode: 0o755 })
  return { folder, env: { PATH: `${join(folder, 'bin')}:${process.env['PATH']}` } }
}

function readImages(folder: string): string[] {
  const text = ['compose.yaml', 'Dockerfile']
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n')
  return Array.from(text.matchAll(/^(?: *image: |ARG NODE=)(\S+:\S+)$/gm), ([, image = '']) => image)
}

describe('pin-images.sh', () => {
  test('Registry that answers – pins every image, and updates pinned ones', (t) => {
    const tags = readImages(root)
    assert.equal(tags.length, 4)
    for (const digit of ['a', 'b']) {
      const digest = `sha256:${digit.repeat(64)}`
      const { folder, env } = copyWithDocker(t, digest)
      if (digit === 'b') {
        const pinned = readFileSync(join(folder, 'compose.yaml'), 'utf8')
        const earlier = `sha256:${'0'.repeat(64)}`
        writeFileSync(join(folder, 'compose.yaml'), pinned.replace(/(image: nginx:\S+)/, `$1@${earlier}`))
      }
      execFileSync(join(folder, 'deploy/pin-images.sh'), { env })
      assert.deepEqual(
        readImages(folder),
        tags.map((tag) => `${tag}@${digest}`),
      )
    }
  })

  test('Registry without the image – fails and changes nothing', (t) => {
    const { folder, env } = copyWithDocker(t, 'not found')
    const { status, stderr } = spawnSync(join(folder, 'deploy/pin-images.sh'), { env, encoding: 'utf8' })
    assert.equal(status, 1)
    assert.match(stderr, /^No digest of \S+: not found/)
    assert.deepEqual(readImages(folder), readImages(root))
  })
})
