/** Runs test files with node:test in this process, one after the other, each to its first failure. */
import { subscribe } from 'node:diagnostics_channel'
import { beforeEach, describe, test } from 'node:test'

export interface TestRun {
  /** How many tests ended. */
  readonly ended: number
  /** The name of the first test that failed, and why; null: none. */
  readonly failure: string | null
}

let ended = 0
let failure: string | null = null

function fail(name: string, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error)
  failure ??= `${name}: ${message.split('\n', 1)[0] ?? ''}`
}

interface TestMessage {
  readonly name: string
  readonly type: string
  readonly error?: unknown
}

subscribe('tracing:node.test:error', (message) => {
  const { name, error } = message as TestMessage
  fail(name, error)
})
subscribe('tracing:node.test:end', (message) => {
  if ((message as TestMessage).type === 'test') ended += 1
})
process.on('uncaughtException', (error) => fail('outside of a test', error))
process.on('unhandledRejection', (error) => fail('outside of a test', error))
// What comes after a failure adds nothing.
beforeEach(() => {
  if (failure !== null) throw new Error('An earlier test failed.')
})

/** Imports the module and waits for the tests that it registers. */
export async function runTestFile(url: string): Promise<TestRun> {
  ended = 0
  failure = null
  void describe(url, async () => {
    await import(url)
  })
  await test('the end', () => undefined)
  return { ended: ended - 1, failure }
}
