/** What Sluice says on a Node.js that is too old: after `npm ci`, without it, after one that installed no Node.js, and as a package. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const bin = fileURLToPath(new URL('../../bin', import.meta.url))
/** Claims to be the Node.js of Debian 12. */
const oldVersion = `data:text/javascript,${encodeURIComponent(
  `Object.defineProperty(process.versions, 'node', { value: '18.20.4' })
  Object.defineProperty(process, 'version', { value: 'v18.20.4' })`,
)}`

/** A copy of the programs. */
function copyPrograms(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-node-'))
  t.after(() => rmSync(folder, { recursive: true }))
  cpSync(bin, join(folder, 'bin'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  return folder
}

function run(folder: string, program: string): { status: number | null; text: string } {
  const args = ['--import', oldVersion, join(folder, 'bin', program), '--if-possible']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  return { status, text: stdout + stderr }
}

describe('Node.js version', () => {
  test('Too old – the error says what to do in each state of the installation', (t) => {
    const folder = copyPrograms(t)
    const states: [() => void, RegExp][] = [
      [() => {}, /this is v18\.20\.4\. Run `npm ci` on Linux .* with npm 10 or newer/],
      [
        () => mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true }),
        /did not install .* npm 9 and older/,
      ],
      [
        () => writeFileSync(join(folder, 'node_modules/.bin/node'), ''),
        /Use `npm start` or `npx sluice`, which run/,
      ],
      [
        () => {
          mkdirSync(join(folder, 'src'))
          writeFileSync(join(folder, 'src/main.js'), '')
        },
        /Start it with the command `sluice`, which runs the Node\.js that npm 10 or newer installs/,
      ],
    ]
    for (const [change, advice] of states) {
      change()
      const started = run(folder, 'sluice.js')
      assert.equal(started.status, 1)
      assert.match(started.text, /^Sluice cannot start: it needs Node\.js 24\.15 or newer/)
      assert.match(started.text, advice)
      const built = run(folder, 'build-console.js')
      assert.equal(built.status, 0)
      assert.match(built.text, /^The console was not built: it needs Node\.js 24\.15 or newer/)
      assert.match(built.text, advice)
    }
  })
})
