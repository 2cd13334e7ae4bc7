/** Runs power-cut-process.ts in its own namespaces, so that everything it started and mounted ends with it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { TestContext } from 'node:test'

import { unshareOptions } from '../../sim/power-cut.ts'

const program = fileURLToPath(new URL('./power-cut-process.ts', import.meta.url))

export interface PowerCutTrial {
  readonly trial: number
  readonly cut: {
    readonly writes: number
    readonly flushes: number
    readonly unflushed: number
    readonly lost: number
  }
  /** For a plain database: acknowledged commits, those found after the power cut, and the difference. */
  readonly committed: number
  readonly kept: number
  readonly lost: number
  readonly check: string
  /** For a relay. */
  readonly completed: number
  readonly interrupted: number
}

/** `target`: `relay`, or the `synchronous` mode of a plain database. Fails if any trial fails. */
export async function runPowerCutTrials(
  t: TestContext,
  target: string,
  count: number,
): Promise<PowerCutTrial[]> {
  const child = spawn('unshare', [...unshareOptions, process.execPath, program, target, String(count)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let [output, errorOutput] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (part: string) => (output += part))
  child.stderr.setEncoding('utf8').on('data', (part: string) => (errorOutput += part))
  const [code] = (await once(child, 'close')) as [number | null]
  const [first = '', ...lines] = output.trimEnd().split('\n')
  t.diagnostic(`seed ${first}`)
  assert.equal(code, 0, errorOutput)
  return lines.map((line) => JSON.parse(line) as PowerCutTrial)
}
