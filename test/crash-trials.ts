/** Trials of the crash harness: something dies at a moment that is another one each time. */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { compare, Load, Meter, prices, type Comparison } from './long/crash-comparison.ts'
import type { House } from './support/server/test-server.ts'
import { onThisMachine } from './machine.ts'

/** A disk whose power goes at a moment, and comes back. */
export interface Power {
  goes(): void
  comes(): Promise<void>
}

export type Death = 'the process' | 'a worker' | Power

/** What a relay needs so that one of its workers can be ended from outside. */
export const crashEnv: Record<string, string> = {
  WORKERS: '2',
  NODE_OPTIONS: `--import=${new URL('end-worker.fixture.ts', import.meta.url).href}`,
}

const backWithinMs = 5000
const streams = 64
const balance = '50'

export async function crashHouse(house: House): Promise<Meter> {
  const meter = new Meter()
  await house.model('m', { upstreams: [await house.upstream(meter.script)], prices })
  return meter
}

/** One trial on a house that runs: 64 streams open, others come and go, then the death, then the comparison. */
export async function crashTrial(
  house: House,
  meter: Meter,
  death: Death,
  afterMs: number,
): Promise<Comparison> {
  const account = await house.account({ balance })
  meter.sent.clear()
  const load = new Load(account, house.url)
  load.stream(streams)
  load.repeat(8)
  await delay(afterMs)
  if (death !== 'a worker') {
    const power = typeof death === 'object' ? death : null
    // What callers have seen by now was on the disk before the power goes.
    if (power) load.freeze()
    power?.goes()
    await house.kill()
    const followed = await load.ended()
    await power?.comes()
    const startedAt = performance.now()
    await house.restart()
    // A disk in user space is slower than any real one.
    if (!power)
      assert.ok(performance.now() - startedAt < onThisMachine(backWithinMs), 'it is back within 5 seconds')
    return compare(house, account, followed, { meter, balance })
  }
  house.relay.signal('SIGUSR2')
  return compare(house, account, await load.ended(), { meter, balance })
}
