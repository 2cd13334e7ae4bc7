/**
 * The product when too much is asked of it: more than it can serve, callers who never finish asking, and callers who wait.
 * On instances of its own, whose books are checked.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { rssBytes } from './cpu.ts'
import { median } from './figures.ts'
import { grouped, table, type Verdict } from './markdown.ts'
import { measure, type Sample } from './measure.ts'
import { startProduct } from './product.ts'
import type { QuietSettings } from './idle-clients.ts'
import type { Place, Subject } from './subjects.ts'

/** So many connections are what the product can serve at most. */
const saturating = 64
const manifolds = [2, 5, 10]
const drippingCount = 5000
/** Beside slow ones: so few that nothing queues. */
const normalConnections = 4
const idleCount = 2000
/** What was opened and closed before is not counted as a stream's. */
const firstIdleCount = 500

const leastShare = 0.9
const mostSlower = 1.1
const mostIdleBytes = 64 * 1024

export interface PressureFigures {
  /** At the saturating load, at its manifolds, and at once afterwards. */
  readonly overload: readonly { readonly title: string; readonly perSecond: number; readonly p99Ms: number }[]
  readonly p99AloneMs: number
  readonly p99BesideDrippingMs: number
  readonly bytesPerIdleStream: number
}

interface Held {
  readonly product: Subject
  readonly seconds: number
  readonly rounds: number
}

export async function measurePressure(
  place: Place,
  seconds: number,
  rounds: number,
): Promise<PressureFigures> {
  const bytesPerIdleStream = await onItsOwn(place, 'waiting', measureIdle)
  return onItsOwn(place, 'pressure', async (product) => {
    const held = { product, seconds, rounds }
    await sampleOf(held, saturating, 3)
    return { bytesPerIdleStream, ...(await measureDripping(held)), overload: await measureOverload(held) }
  })
}

async function onItsOwn<Result>(
  place: Place,
  name: string,
  measuring: (product: Subject) => Promise<Result>,
): Promise<Result> {
  const directory = join(place.directory, name)
  mkdirSync(directory)
  const product = await startProduct({ ...place, directory })
  try {
    return await measuring(product)
  } finally {
    await product.stop()
  }
}

async function sampleOf({ product, seconds }: Held, connections: number, warmSeconds = 0.5): Promise<Sample> {
  const sample = await measure(product, { question: '1kb', connections, warmSeconds, seconds })
  if (sample.invalid !== undefined) throw new Error(`${connections} connections: ${sample.invalid}`)
  return sample
}

async function measureOverload(held: Held): Promise<PressureFigures['overload']> {
  const steps = [
    { title: 'what saturates', connections: saturating },
    ...manifolds.map((times) => ({ title: `${times} times that`, connections: times * saturating })),
    { title: 'right afterwards', connections: saturating },
  ]
  const samples: Sample[][] = steps.map(() => [])
  for (let round = 0; round < held.rounds; round += 1) {
    for (const [index, { connections }] of steps.entries())
      samples[index]?.push(await sampleOf(held, connections))
  }
  return steps.map(({ title, connections }, index) => {
    const own = samples[index] ?? []
    return {
      title: `${title}: ${connections} connections`,
      perSecond: median(own.map((sample) => sample.answers / sample.seconds)),
      p99Ms: median(own.map((sample) => sample.p99Ms)),
    }
  })
}

/** In turns, for the machine is not the same from minute to minute. */
async function measureDripping(
  held: Held,
): Promise<Pick<PressureFigures, 'p99AloneMs' | 'p99BesideDrippingMs'>> {
  const alone: number[] = []
  const beside: number[] = []
  for (let round = 0; round < held.rounds; round += 1) {
    alone.push((await sampleOf(held, normalConnections)).p99Ms)
    const dripping = await quietCallers(held.product, 'dripping', drippingCount)
    beside.push((await sampleOf(held, normalConnections)).p99Ms)
    await end(dripping)
  }
  return { p99AloneMs: median(alone), p99BesideDrippingMs: median(beside) }
}

/** A stream's memory, on a relay that has done little else: what loads leave behind would hide it. */
async function measureIdle(product: Subject): Promise<number> {
  const first = await quietCallers(product, 'listening', firstIdleCount)
  await end(first)
  await settled(product)
  const before = rssBytes(product.pid)
  const idle = await quietCallers(product, 'listening', idleCount)
  const after = rssBytes(product.pid)
  await end(idle)
  await settled(product)
  await product.verify?.()
  return (after - before) / idleCount
}

async function quietCallers(
  { port, key }: Subject,
  kind: QuietSettings['kind'],
  count: number,
): Promise<ChildProcess> {
  const settings: QuietSettings = { port, key, kind, count }
  const child = fork(fileURLToPath(new URL('quiet-callers.ts', import.meta.url)), [JSON.stringify(settings)])
  const [word] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown]
  if (word !== 'there') throw new Error(`${count} ${kind} callers could not stay`)
  return child
}

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill()
  await exited
}

/** Until the relay has noticed that they have left, and nothing is held for them. */
async function settled(product: Subject): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const isSettled = await product.verify?.().then(
      () => true,
      () => false,
    )
    if (isSettled) return
    await delay(50)
  }
  throw new Error('money stays held for callers who have left')
}

export function pressureVerdicts(figures: PressureFigures): Verdict[] {
  const { overload, p99AloneMs, p99BesideDrippingMs, bytesPerIdleStream } = figures
  const rates = overload.map(({ perSecond }) => perSecond)
  const share = Math.min(...rates.slice(1)) / (rates[0] ?? NaN)
  const slower = p99BesideDrippingMs / p99AloneMs
  return [
    {
      what: `${manifolds.join(', ')} times the saturating load, and afterwards`,
      target: `answers ≥ ${leastShare} × what they are at it`,
      figure: `${share.toFixed(2)} ×`,
      met: share >= leastShare,
    },
    {
      what: `${grouped(drippingCount)} connections that send a head byte by byte`,
      target: `p99 of others ≤ ${mostSlower} ×`,
      figure: `${slower.toFixed(2)} ×`,
      met: slower <= mostSlower,
    },
    {
      what: `${grouped(idleCount)} streams that are silent`,
      target: `memory of each ≤ ${mostIdleBytes / 1024} KiB`,
      figure: `${(bytesPerIdleStream / 1024).toFixed(0)} KiB`,
      met: bytesPerIdleStream <= mostIdleBytes,
    },
  ]
}

export function pressureTable({ overload, p99AloneMs, p99BesideDrippingMs }: PressureFigures): string[] {
  const loads = overload.map(({ title, perSecond, p99Ms }) => [title, grouped(perSecond), p99Ms.toFixed(2)])
  const normal = `${normalConnections} connections`
  return [
    '## Too much is asked',
    '',
    ...table(
      ['', 'requests/s seen', 'p99 ms'],
      [
        ...loads,
        [`${normal}, alone`, '', p99AloneMs.toFixed(2)],
        [
          `${normal}, beside ${grouped(drippingCount)} that send a head byte by byte`,
          '',
          p99BesideDrippingMs.toFixed(2),
        ],
      ],
    ),
    '',
  ]
}
