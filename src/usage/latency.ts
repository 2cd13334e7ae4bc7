/** How long answers took, from the ladders that the roll-ups keep: percentiles, right to a quarter of their value. */
import type { Db } from '../db/db.ts'
import { latencyLadderMs } from './rollups/traffic-rollup.ts'
import type { Parameter } from '../db/messages.ts'

export interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

export interface Latency {
  /** Answered requests. */
  readonly requests: number
  /** Of streams; null: there were none. */
  readonly firstToken: Percentiles | null
  readonly duration: Percentiles | null
}

export interface LatencyFilter {
  /** null: all accounts together. */
  readonly account: string | null
  /** Days of UTC that overlap with this span. */
  readonly from: number
  readonly to: number
  readonly model?: string
}

const dayMs = 86_400_000

interface Row {
  model: string
  measure: string
  bucket: number
  requests: number
}

/** Counts by step of the ladder. */
type Ladder = Map<number, number>

/** Where a share of the requests was done, straight between the ends of its step. */
function percentileOf(ladder: Ladder, total: number, share: number): number {
  const wanted = total * share
  let below = 0
  for (let step = 0; step <= latencyLadderMs.length; step += 1) {
    const count = ladder.get(step) ?? 0
    if (count > 0 && below + count >= wanted) {
      const low = latencyLadderMs[step - 1] ?? 0
      const high = latencyLadderMs[step] ?? low * 2
      return Math.round(low + ((high - low) * (wanted - below)) / count)
    }
    below += count
  }
  return 0
}

function totalOf(ladder: Ladder): number {
  return ladder.values().reduce((sum, count) => sum + count, 0)
}

function percentilesOf(ladder: Ladder): Percentiles | null {
  const total = totalOf(ladder)
  if (total === 0) return null
  const [p50 = 0, p95 = 0, p99 = 0] = [0.5, 0.95, 0.99].map((share) => percentileOf(ladder, total, share))
  return { p50, p95, p99 }
}

function latencyOf(rows: readonly Row[]): Latency {
  const ladders = { first_token: new Map<number, number>(), duration: new Map<number, number>() }
  for (const { measure, bucket, requests } of rows) {
    const ladder = measure === 'duration' ? ladders.duration : ladders.first_token
    ladder.set(bucket, (ladder.get(bucket) ?? 0) + requests)
  }
  return {
    requests: totalOf(ladders.duration),
    firstToken: percentilesOf(ladders.first_token),
    duration: percentilesOf(ladders.duration),
  }
}

async function rowsOf(db: Db, { account, from, to, model }: LatencyFilter): Promise<Row[]> {
  const parameters: Parameter[] = [account ?? '', Math.floor(from / dayMs) * dayMs, to]
  if (model !== undefined) parameters.push(model)
  return db.report<Row>({
    sql: `select model, measure, bucket, sum(requests) as requests from latency_daily
      where account_id = ? and day >= ? and day < ?${model === undefined ? '' : ' and model = ?'}
      group by model, measure, bucket`,
    parameters,
  })
}

/** Of all models together, and of each. */
export async function latencyIn(
  db: Db,
  filter: LatencyFilter,
): Promise<{ total: Latency; models: Map<string, Latency> }> {
  const rows = await rowsOf(db, filter)
  const byModel = Map.groupBy(rows, ({ model }) => model)
  return {
    total: latencyOf(rows),
    models: new Map(Array.from(byModel, ([model, own]) => [model, latencyOf(own)])),
  }
}
