import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, test, type TestContext } from 'node:test'

const program = `import { createLog } from ${JSON.stringify(new URL('./log.ts', import.meta.url).href)}
const log = createLog('info')
process.stdin.resume().on('end', async () => {
  // More than a pipe holds, in several writes.
  for (let number = 0; number < 40; number += 1) {
    log.info({ padding: 'x'.repeat(10_000) }, 'a line that nobody reads')
    await new Promise(setImmediate)
  }
  process.exit(3)
})`

/** Starts it; its output is not read. */
function startProgram(t: TestContext) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), 60_000)
  t.after(() => {
    clearTimeout(timer)
    child.kill('SIGKILL')
  })
  return child
}

describe('createLog', () => {
  test('exit with lines to write and without a reader – is not delayed', async (t) => {
    const child = startProgram(t)
    child.stdout.destroy()
    child.stdin.end()
    assert.deepEqual(await once(child, 'exit'), [3, null])
  })

  test('exit with a reader that does not read – ends soon', async (t) => {
    const child = startProgram(t)
    child.stdin.end()
    assert.deepEqual(await once(child, 'exit'), [3, null])
  })
})
