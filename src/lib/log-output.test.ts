import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { errorCode } from './error-message.ts'
import { openLogOutput, type LogOutput } from './log-output.ts'
import { waitUntil } from '../../test/support/wait.ts'

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

/** At most what a pipe holds; empty if nothing is there. */
function readAvailable(reader: number): string {
  const bytes = Buffer.alloc(65_536)
  try {
    return bytes.toString('utf8', 0, readSync(reader, bytes))
  } catch (error) {
    assert.equal(errorCode(error), 'EAGAIN')
    return ''
  }
}

/** Flushes and reads until the text is complete. */
async function readUntil(
  output: LogOutput,
  reader: number,
  isComplete: (text: string) => boolean,
): Promise<string> {
  let text = ''
  await waitUntil(() => {
    output.flush()
    text += readAvailable(reader)
    return isComplete(text)
  }, 'the rest of the text')
  return text
}

/** Writes more lines than a pipe (64 KiB) and the buffer hold, and flushes now and then. */
async function overfill(output: LogOutput): Promise<number> {
  const count = Math.ceil((65_536 + 3 * options.maxBufferedChars) / line.length)
  for (let number = 0; number < count; number += 1) {
    output.write(line)
    output.flush()
    await new Promise(setImmediate)
  }
  return count
}

/** The lines in the text and those that it reports as dropped, which may be in several parts. */
function countLines(text: string): { written: number; dropped: number } {
  const written = text.split('\n').filter((each) => each === line.trim()).length
  const reports = Array.from(text.matchAll(/dropped (\d+)\n/g), ([, count]) => Number(count))
  return { written, dropped: reports.reduce((sum, count) => sum + count, 0) }
}

/** Reads until every line was written or reported. */
async function assertAllAccountedFor(output: LogOutput, reader: number, count: number): Promise<void> {
  const total = ({ written, dropped }: ReturnType<typeof countLines>): number => written + dropped
  const text = await readUntil(output, reader, (each) => total(countLines(each)) >= count)
  const counts = countLines(text)
  assert.equal(total(counts), count)
  assert.ok(counts.dropped > 0)
}

describe('openLogOutput', () => {
  test('reader that does not read – lines beyond the bound are dropped and counted', async (t) => {
    const { writer, reader } = createPipe(t)
    const output = openLogOutput(writer, options)
    const count = await overfill(output)
    await assertAllAccountedFor(output, reader, count)
    closeSync(reader)
  })

  test('reader that leaves – nothing fails or waits, and the next reader gets the bounded rest', async (t) => {
    const { writer, reader, openReader } = createPipe(t)
    const output = openLogOutput(writer, options)
    closeSync(reader)
    const count = await overfill(output)
    output.flushSync()
    const next = openReader()
    await assertAllAccountedFor(output, next, count)
    closeSync(next)
  })

  test('reader that is slow – gets every line without another flush', async (t) => {
    const { writer, reader } = createPipe(t)
    const output = openLogOutput(writer, { ...options, maxBufferedChars: 1024 ** 2 })
    const text = line.repeat(3000)
    output.write(text)
    let received = ''
    await waitUntil(() => {
      received += readAvailable(reader)
      return received.length >= text.length
    }, 'the rest of the text')
    assert.ok(received === text)
    closeSync(reader)
  })

  test('flushSync during a write that fails – loses nothing', async (t) => {
    const { writer, reader, openReader } = createPipe(t)
    const output = openLogOutput(writer, options)
    closeSync(reader)
    output.write('one\n')
    output.flush()
    output.write('two\n')
    output.flushSync()
    const next = openReader()
    assert.equal(await readUntil(output, next, (text) => text.endsWith('two\n')), 'one\ntwo\n')
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
