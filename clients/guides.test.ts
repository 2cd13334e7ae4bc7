// @drives a client
/**
 * The guides in docs/clients/: their tested versions are those of the lock files, or they say when they were checked
 * against what; and the index lists all of them.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const guides = globSync('docs/clients/*.md', { cwd: root }).filter((path) => basename(path) !== 'README.md')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** `1.2.3-linux-x64`: a package that another one of version 1.2.3 depends on. */
const platformVersion = /-(?:linux|darwin|win32)-/

interface PackageLock {
  readonly packages: Readonly<Record<string, { readonly name?: string; readonly version?: string }>>
}

/** The versions of a package that the lock files in a folder have. */
function lockedVersions(folder: string, name: string): string[] {
  const exclude = ['**/node_modules', '**/.venv']
  const fromNode = globSync(`${folder}/**/package-lock.json`, { cwd: root, exclude }).flatMap((path) =>
    Object.entries((JSON.parse(read(path)) as PackageLock).packages)
      .filter(([place, { name: real }]) => (real ?? place.replace(/.*node_modules\//, '')) === name)
      .map(([, { version }]) => version ?? '')
      .filter((version) => !platformVersion.test(version)),
  )
  const fromPython = globSync(`${folder}/**/requirements.txt`, { cwd: root, exclude }).flatMap((path) =>
    read(path)
      .split('\n')
      .filter((line) => line.startsWith(`${name}==`))
      .map((line) => line.slice(name.length + 2).replace(/ .*/, '')),
  )
  return [...fromNode, ...fromPython]
}

describe('Guides of clients', () => {
  for (const path of guides) {
    test(`${basename(path)} – names the versions that are tested, or the date of a check`, () => {
      const text = read(path)
      const lines = text.split('\n').filter((line) => line.startsWith('Tested with '))
      if (/^Checked against .* on \d{4}-\d{2}-\d{2}\./m.test(text)) {
        assert.doesNotMatch(text, /^```\w+ run$/m, 'no test runs the samples of a page that was only checked')
        return
      }
      assert.notEqual(lines.length, 0, 'write “Tested with `package` 1.2.3 (`clients/folder/`)”')
      for (const line of lines) {
        const folder = /`(clients\/[\w-]+)\/`/.exec(line)?.[1] ?? assert.fail(`no folder in: ${line}`)
        const named = [...line.matchAll(/`([@\w/-]+)` (\d[\d.]*\d(?:(?:,| and) \d[\d.]*\d)*)/g)]
        assert.notEqual(named.length, 0, line)
        for (const [, name = '', versions = ''] of named)
          assert.deepEqual(
            versions.split(/, | and /).toSorted(),
            lockedVersions(folder, name).toSorted(),
            name,
          )
      }
    })
  }

  test('Index – lists every guide', () => {
    const index = read('docs/clients/README.md')
    const missing = guides.map((path) => basename(path)).filter((name) => !index.includes(`](${name})`))
    assert.deepEqual(missing, [])
  })
})
