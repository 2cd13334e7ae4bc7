import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { startThread } from './thread.ts'

/** Writes the files to a folder and returns the URL of the first. */
function writeModules(t: TestContext, files: Readonly<Record<string, string>>): URL {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-thread-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return pathToFileURL(join(folder, Object.keys(files)[0] ?? ''))
}

describe('startThread', () => {
  test('modules of every format – are imported by relative path', async (t) => {
    const module = writeModules(t, {
      'main.ts': `import { parentPort, workerData } from 'node:worker_threads'
        import { typed } from './typed.ts'
        import { plain } from './plain.mjs'
        import common from './common.cjs'
        import data from './data.json' with { type: 'json' }
        const late = await import('./late.ts')
        parentPort?.postMessage([typed, plain, common.value, data.value, late.value, workerData])`,
      'typed.ts': `export const typed: string = 'typed'`,
      'plain.mjs': `export { plain } from './plainer.mjs'`,
      'plainer.mjs': `export const plain = 'plain'`,
      'common.cjs': `exports.value = require('./other.cjs')`,
      'other.cjs': `module.exports = 'common'`,
      'data.json': `{ "value": "data" }`,
      'late.ts': `export const value: string = 'late'`,
    })
    const thread = startThread(module, { workerData: 'init' })
    const [message] = (await once(thread, 'message')) as unknown[]
    assert.deepEqual(message, ['typed', 'plain', 'common', 'data', 'late', 'init'])
    await thread.terminate()
  })

  test('messages sent while the modules load – are received', async (t) => {
    const module = writeModules(t, {
      'main.mjs': `import { parentPort } from 'node:worker_threads'
        parentPort.once('message', (message) => parentPort.postMessage(message + 1))`,
    })
    const thread = startThread(module, {})
    thread.postMessage(41)
    assert.deepEqual(await once(thread, 'message'), [42])
    await thread.terminate()
  })

  test('module that throws or does not exist – ends the thread with its error', async (t) => {
    const module = writeModules(t, { 'main.mjs': `throw new Error('broken')` })
    const missing = new URL('./missing.mjs', module)
    for (const [url, pattern] of [
      [module, /broken/],
      [missing, /missing\.mjs/],
    ] as const) {
      const [error] = (await once(startThread(url, {}), 'error')) as unknown[]
      assert.match(String(error), pattern)
    }
  })
})
