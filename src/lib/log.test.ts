import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'node:test'

const program = `import { createLog } from ${JSON.stringify(new URL('./log.ts', import.meta.url).href)}
const log = createLog('info')
process.stdin.resume().on('end', () => {
  log.info('a line that nobody reads')
  process.exit(3)
})`

describe('createLog', () => {
  test('exit with lines to write and without a reader – is not delayed', async (t) => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    child.stdout.destroy()
    child.stdin.end()
    const timer = setTimeout(() => child.kill('SIGKILL'), 60_000)
    assert.deepEqual(await once(child, 'exit'), [3, null])
    clearTimeout(timer)
  })
})
