/**
 * The product under overload: more requests than it can serve, clients that never complete a request, and
 * idle clients. Runs on separate instances whose ledgers are verified.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { rssBytes } from './cpu.ts'
import { median } from './figures.ts'
import { grouped, table, type TargetResult } from './markdown.ts'
import { measure, type Sample } from './measure.ts'
import { startProduct } from './product.ts'
import type { IdleClientSettings } from './idle-clients.ts'
import type { BenchEnvironment, Subject } from './subjects.ts'

/** The product is saturated with this many connections. */
const saturatingConnections = 64
const multiples = [2, 5, 10]
const slowHeaderCount = 5000
/** Few enough that nothing queues, next to slow clients. */
const normalConnections = 4
const idleCount = 2000
/** Warm-up: memory that earlier connections left behind is not attributed to streams. */
const firstIdleCount = 500

const minShare = 0.9
const maxSlowdown = 1.1
const maxIdleBytes = 64 * 1024

export interface OverloadFigures {
  /** At the saturating load, at its multiples, and immediately afterwards. */
  readonly overload: readonly { readonly title: string; readonly perSecond: number; readonly p99Ms: number }[]
  readonly p99AloneMs: number
  readonly p99WithSlowHeadersMs: number
  readonly bytesPerIdleStream: number
}

interface OverloadRun {
  readonly product: Subject
  readonly seconds: number
  readonly rounds: number
}

export async function measureOverloads(
  environment: BenchEnvironment,
  seconds: number,
  rounds: number,
): Promise<OverloadFigures> {
  const bytesPerIdleStream = await withOwnInstance(environment, 'waiting', measureIdle)
  return withOwnInstance(environment, 'overload', async (product) => {
    const run = { product, seconds, rounds }
    await sampleOf(run, saturatingConnections, 3)
    return { bytesPerIdleStream, ...(await measureSlowHeaders(run)), overload: await measureOverload(run) }
  })
}

async function withOwnInstance<Result>(
  environment: BenchEnvironment,
  name: string,
  measuring: (product: Subject) => Promise<Result>,
): Promise<Result> {
  const directory = join(environment.directory, name)
  mkdirSync(directory)
  const product = await startProduct({ ...environment, directory })
  try {
    return await measuring(product)
  } finally {
    await product.stop()
  }
}

async function sampleOf(
  { product, seconds }: OverloadRun,
  connections: number,
  warmSeconds = 0.5,
): Promise<Sample> {
  const sample = await measure(product, { kind: '1kb', connections, warmSeconds, seconds })
  if (sample.invalid !== undefined) throw new Error(`${connections} connections: ${sample.invalid}`)
  return sample
}

async function measureOverload(run: OverloadRun): Promise<OverloadFigures['overload']> {
  const steps = [
    { title: 'saturating load', connections: saturatingConnections },
    ...multiples.map((times) => ({
      title: `${times} × that`,
      connections: times * saturatingConnections,
    })),
    { title: 'immediately afterwards', connections: saturatingConnections },
  ]
  const samples: Sample[][] = steps.map(() => [])
  for (let round = 0; round < run.rounds; round += 1) {
    for (const [index, { connections }] of steps.entries())
      samples[index]?.push(await sampleOf(run, connections))
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

/** In alternation, because the machine's speed varies from minute to minute. */
async function measureSlowHeaders(
  run: OverloadRun,
): Promise<Pick<OverloadFigures, 'p99AloneMs' | 'p99WithSlowHeadersMs'>> {
  const alone: number[] = []
  const withSlowHeaders: number[] = []
  for (let round = 0; round < run.rounds; round += 1) {
    alone.push((await sampleOf(run, normalConnections)).p99Ms)
    const slowClients = await startIdleClients(run.product, 'dripping', slowHeaderCount)
    withSlowHeaders.push((await sampleOf(run, normalConnections)).p99Ms)
    await end(slowClients)
  }
  return { p99AloneMs: median(alone), p99WithSlowHeadersMs: median(withSlowHeaders) }
}

/** The memory of a stream on a relay that has done little else; memory left behind by loads would hide it. */
async function measureIdle(product: Subject): Promise<number> {
  const first = await startIdleClients(product, 'listening', firstIdleCount)
  await end(first)
  await waitUntilSettled(product)
  const before = rssBytes(product.pid)
  const idle = await startIdleClients(product, 'listening', idleCount)
  const after = rssBytes(product.pid)
  await end(idle)
  await waitUntilSettled(product)
  await product.verify?.()
  return (after - before) / idleCount
}

async function startIdleClients(
  { port, key }: Subject,
  kind: IdleClientSettings['kind'],
  count: number,
): Promise<ChildProcess> {
  const settings: IdleClientSettings = { port, key, kind, count }
  const child = fork(fileURLToPath(new URL('./idle-clients.ts', import.meta.url)), [JSON.stringify(settings)])
  const [message] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown]
  if (message !== 'connected') throw new Error(`${count} ${kind} clients could not connect`)
  return child
}

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill()
  await exited
}

/** Waits until the relay has noticed the disconnects and nothing is held for them. */
async function waitUntilSettled(product: Subject): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const isSettled = await product.verify?.().then(
      () => true,
      () => false,
    )
    if (isSettled) return
    await delay(50)
  }
  throw new Error('money is still held for disconnected clients')
}

export function overloadResults(figures: OverloadFigures): TargetResult[] {
  const { overload, p99AloneMs, p99WithSlowHeadersMs, bytesPerIdleStream } = figures
  const rates = overload.map(({ perSecond }) => perSecond)
  const share = Math.min(...rates.slice(1)) / (rates[0] ?? NaN)
  const slower = p99WithSlowHeadersMs / p99AloneMs
  return [
    {
      load: `${multiples.join(', ')} × the saturating load, and afterwards`,
      target: `responses ≥ ${minShare} × those at saturation`,
      figure: `${share.toFixed(2)} ×`,
      met: share >= minShare,
    },
    {
      load: `${grouped(slowHeaderCount)} connections that send a head byte by byte`,
      target: `p99 of other clients ≤ ${maxSlowdown} ×`,
      figure: `${slower.toFixed(2)} ×`,
      met: slower <= maxSlowdown,
    },
    {
      load: `${grouped(idleCount)} silent streams`,
      target: `memory per stream ≤ ${maxIdleBytes / 1024} KiB`,
      figure: `${(bytesPerIdleStream / 1024).toFixed(0)} KiB`,
      met: bytesPerIdleStream <= maxIdleBytes,
    },
  ]
}

export function overloadTable({ overload, p99AloneMs, p99WithSlowHeadersMs }: OverloadFigures): string[] {
  const loads = overload.map(({ title, perSecond, p99Ms }) => [title, grouped(perSecond), p99Ms.toFixed(2)])
  const normal = `${normalConnections} connections`
  return [
    '## Overload',
    '',
    ...table(
      ['', 'requests/s measured', 'p99 ms'],
      [
        ...loads,
        [`${normal}, alone`, '', p99AloneMs.toFixed(2)],
        [
          `${normal}, next to ${grouped(slowHeaderCount)} that send a head byte by byte`,
          '',
          p99WithSlowHeadersMs.toFixed(2),
        ],
      ],
    ),
    '',
  ]
}
