/** Trials of the crash tests: something is killed, each time at a different moment. */
import assert from 'node:assert/strict'
import { compareCharges, CrashLoad, WordMeter, prices, type Comparison } from './crash-comparison.ts'
import type { TestServer } from '../support/server/test-server.ts'
import { scriptedDelay } from '../support/wait.ts'

/** A disk whose power can be cut and restored. */
export interface Power {
  cut(): void
  restore(): Promise<void>
}

export type CrashTarget = 'the process' | 'a worker' | Power

/** Settings that let a signal terminate one worker of a relay. */
export const crashEnv: Record<string, string> = {
  WORKERS: '2',
  NODE_OPTIONS: `--import=${new URL('../support/server/preload/terminate-worker.ts', import.meta.url).href}`,
}

/** On an idle machine, a restart takes at most 5 s. */
const maxRestartMs = 50_000
const streamCount = 64
const balance = '50'

export async function prepareCrashServer(server: TestServer): Promise<WordMeter> {
  const meter = new WordMeter()
  await server.model('m', { upstreams: [await server.upstream(meter.script)], prices })
  return meter
}

/** One trial on a running relay: 64 open streams and other requests, then the kill, then the comparison. */
export async function runCrashTrial(
  server: TestServer,
  meter: WordMeter,
  target: CrashTarget,
  delayMs: number,
): Promise<Comparison> {
  const account = await server.account({ balance })
  meter.sent.clear()
  const load = new CrashLoad(account, server.url)
  load.stream(streamCount)
  load.repeat(8)
  await scriptedDelay(delayMs)
  if (target !== 'a worker') {
    const power = typeof target === 'object' ? target : null
    // What clients have received by now was on the disk before the power cut.
    if (power) load.freeze()
    power?.cut()
    await server.kill()
    const results = await load.finish()
    await power?.restore()
    const startedAt = performance.now()
    await server.restart()
    // A disk in user space is slower than any real disk.
    if (!power) assert.ok(performance.now() - startedAt < maxRestartMs, 'the relay took too long to restart')
    return compareCharges(server, account, results, { meter, balance })
  }
  server.relay.signal('SIGUSR2')
  return compareCharges(server, account, await load.finish(), { meter, balance })
}
