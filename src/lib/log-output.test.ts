import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCode } from './error-message.ts'
import { openLogOutput, type LogOutput } from './log-output.ts'

const line = `${'x'.repeat(99)}\n`
const options = { maxBufferedChars: 1000, droppedLine: (count: number) => `dropped ${count}\n` }

function createFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-log-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

/** A pipe whose reader can leave and come back. */
function createPipe(t: TestContext) {
  const path = join(createFolder(t), 'pipe')
  spawnSync('mkfifo', [path])
  const openReader = (): number => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const reader = openReader()
  const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  t.after(() => closeSync(writer))
  return { writer, reader, openReader }
}

/** Flushes and reads until the text matches. */
async function readUntil(output: LogOutput, reader: number, pattern: RegExp): Promise<string> {
  const bytes = Buffer.alloc(65_536)
  let text = ''
  for (const start = performance.now(); !pattern.test(text); await delay(1)) {
    assert.ok(performance.now() - start < 60_000, `read ${text.length} bytes`)
    output.flush()
    try {
      text += bytes.toString('utf8', 0, readSync(reader, bytes))
    } catch (error) {
      assert.equal(errorCode(error), 'EAGAIN')
    }
  }
  return text
}

/** Writes more lines than a pipe (64 KiB) and the buffer hold, and flushes now and then. */
async function overfill(output: LogOutput): Promise<number> {
  const count = Math.ceil((65_536 + 3 * options.maxBufferedChars) / line.length)
  for (let number = 0; number < count; number += 1) {
    output.write(line)
    output.flush()
    await delay(0)
  }
  return count
}

function assertComplete(text: string, count: number): void {
  const written = text.split('\n').filter((each) => each === line.trim()).length
  const dropped = Number(/dropped (\d+)\n/.exec(text)?.[1])
  assert.ok(dropped > 0)
  assert.equal(written + dropped, count)
}

describe('openLogOutput', () => {
  test('reader that does not read – lines beyond the bound are dropped and counted', async (t) => {
    const { writer, reader } = createPipe(t)
    const output = openLogOutput(writer, options)
    const count = await overfill(output)
    assertComplete(await readUntil(output, reader, /dropped \d+\n/), count)
    closeSync(reader)
  })

  test('reader that leaves – nothing fails or waits, and the next reader gets the bounded rest', async (t) => {
    const { writer, reader, openReader } = createPipe(t)
    const output = openLogOutput(writer, options)
    closeSync(reader)
    const count = await overfill(output)
    output.flushSync()
    const next = openReader()
    assertComplete(await readUntil(output, next, /dropped \d+\n/), count)
    closeSync(next)
  })

  test('flushSync – writes everything that is buffered', (t) => {
    const path = join(createFolder(t), 'log')
    const file = openSync(path, 'w')
    const output = openLogOutput(file, options)
    output.write('one\n')
    output.write('two\n')
    output.flushSync()
    closeSync(file)
    assert.equal(readFileSync(path, 'utf8'), 'one\ntwo\n')
  })
})
