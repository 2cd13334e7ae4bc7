/** Runs power-trials.ts in namespaces of its own, which take everything along that it started and mounted when it ends. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { TestContext } from 'node:test'

import { apart } from '../../sim/power-cut.ts'

const program = fileURLToPath(new URL('power-trials.ts', import.meta.url))

export interface Trial {
  readonly trial: number
  readonly cut: {
    readonly writes: number
    readonly flushes: number
    readonly unsure: number
    readonly lost: number
  }
  /** Of a plain database: commits that it had told, that were there again, and the difference. */
  readonly told: number
  readonly kept: number
  readonly lost: number
  readonly check: string
  /** Of a relay. */
  readonly completed: number
  readonly interrupted: number
}

/** `what`: `relay`, or what a plain database has as its `synchronous`. Every trial has held, or this fails. */
export async function powerTrials(t: TestContext, what: string, count: number): Promise<Trial[]> {
  const child = spawn('unshare', [...apart, process.execPath, program, what, String(count)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let [told, failed] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (part: string) => (told += part))
  child.stderr.setEncoding('utf8').on('data', (part: string) => (failed += part))
  const [code] = (await once(child, 'close')) as [number | null]
  const [first = '', ...lines] = told.trimEnd().split('\n')
  t.diagnostic(`seed ${first}`)
  assert.equal(code, 0, failed)
  return lines.map((line) => JSON.parse(line) as Trial)
}
