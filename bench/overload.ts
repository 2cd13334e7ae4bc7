/**
 * The product under overload: more requests than it can serve, clients that never complete a request, and
 * idle clients. Runs on separate instances whose ledgers are verified.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { rssBytes } from './cpu.ts'
import { median, quartiles, type Quartiles } from './quartiles.ts'
import { grouped, table } from './markdown.ts'
import { measure, type Sample } from './measure.ts'
import { reducedExtent, type Extent } from './plan.ts'
import { startProduct } from './product.ts'
import type { IdleClientSettings } from './idle-clients.ts'
import type { BenchEnvironment, Subject } from './subjects.ts'
import { compare, hundredths, single, withQuartiles, type Target, type TargetResult } from './targets.ts'
import { waitUntil } from '../test/support/wait.ts'

/** The product is saturated with this many connections. */
const saturatingConnections = 64
const multiples = [2, 5, 10]
const slowHeaderCount = 5000
/** Few enough that nothing queues, next to slow clients. */
const normalConnections = 4
const idleCount = 2000
/** Warm-up: memory that earlier connections left behind is not attributed to streams. */
const firstIdleCount = 500

const shareBounds = { required: 0.9, goal: 0.97 }
const maxSlowdown = 1.1
const maxIdleKiB = 64

export interface OverloadFigures {
  /** At the saturating load, at its multiples, and immediately afterwards. */
  readonly overload: readonly OverloadStep[]
  readonly p99AloneMs: number
  readonly p99WithSlowHeadersMs: number
  readonly bytesPerIdleStream: number
}

export interface OverloadStep {
  readonly title: string
  readonly perSecond: number
  readonly p99Ms: number
  /** Responses per second, relative to the saturating load in the same round. */
  readonly share: Quartiles
}

interface OverloadRun extends Extent {
  readonly product: Subject
}

export async function measureOverloads(
  environment: BenchEnvironment,
  extent: Extent,
): Promise<OverloadFigures> {
  const bytesPerIdleStream = await withOwnInstance(environment, 'waiting', measureIdle)
  return withOwnInstance(environment, 'overload', async (product) => {
    const run = { product, ...extent }
    await sampleOf(run, saturatingConnections, extent.seconds)
    const slowHeaders = await measureSlowHeaders({ product, ...reducedExtent(extent) })
    return { bytesPerIdleStream, ...slowHeaders, overload: await measureOverload(run) }
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
  const rates = samples.map((own) => own.map((sample) => sample.answers / sample.seconds))
  return steps.map(({ title, connections }, index) => {
    const own = rates[index] ?? []
    return {
      title: `${title}: ${connections} connections`,
      perSecond: median(own),
      p99Ms: median((samples[index] ?? []).map((sample) => sample.p99Ms)),
      share: quartiles(own.map((rate, round) => rate / (rates[0]?.[round] ?? NaN))),
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
  const isSettled = (): Promise<boolean> | undefined =>
    product.verify?.().then(
      () => true,
      () => false,
    )
  await waitUntil(isSettled, 'the holds of disconnected clients to end')
}

export function overloadResults(figures: OverloadFigures): TargetResult[] {
  const { overload, p99AloneMs, p99WithSlowHeadersMs, bytesPerIdleStream } = figures
  const [worst] = overload.slice(1).toSorted((one, other) => one.share.q1 - other.share.q1)
  const overloaded: Target = {
    load: `${multiples.join(', ')} × the saturating load, and afterwards`,
    measure: 'responses, × those at saturation',
    ...shareBounds,
    isMinimum: true,
    format: hundredths,
  }
  const slow: Target = {
    load: `${grouped(slowHeaderCount)} connections that send a head byte by byte`,
    measure: 'p99 of other clients, × without them',
    required: maxSlowdown,
    format: hundredths,
  }
  const idle: Target = {
    load: `${grouped(idleCount)} silent streams`,
    measure: 'memory per stream, KiB',
    required: maxIdleKiB,
    format: grouped,
  }
  return [
    ...(worst ? [compare(overloaded, worst.share)] : []),
    compare(slow, single(p99WithSlowHeadersMs / p99AloneMs)),
    compare(idle, single(bytesPerIdleStream / 1024)),
  ]
}

export function overloadTable({ overload, p99AloneMs, p99WithSlowHeadersMs }: OverloadFigures): string[] {
  const loads = overload.map(({ title, perSecond, p99Ms, share }) => [
    title,
    grouped(perSecond),
    withQuartiles(share, hundredths),
    p99Ms.toFixed(2),
  ])
  const normal = `${normalConnections} connections`
  return [
    '## Overload',
    '',
    ...table(
      ['', 'requests/s measured', '× saturation', 'p99 ms'],
      [
        ...loads,
        [`${normal}, alone`, '', '', p99AloneMs.toFixed(2)],
        [
          `${normal}, next to ${grouped(slowHeaderCount)} that send a head byte by byte`,
          '',
          '',
          p99WithSlowHeadersMs.toFixed(2),
        ],
      ],
    ),
    '',
  ]
}
