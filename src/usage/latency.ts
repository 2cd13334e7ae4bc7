/** Latency percentiles from the histograms of the roll-ups, accurate to a quarter of their value. */
import type { Db } from '../db/db.ts'
import { latencyBucketsMs } from './rollups/traffic-rollup.ts'
import type { Parameter } from '../db/statement.ts'

export interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

export interface Latency {
  /** Successful requests. */
  readonly requests: number
  /** Streams only. null: there were none. */
  readonly firstToken: Percentiles | null
  readonly duration: Percentiles | null
}

export interface LatencyFilter {
  /** null: all accounts together. */
  readonly account: string | null
  /** UTC days that overlap with this span. */
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

/** Counts by bucket. */
type Histogram = Map<number, number>

/** The latency below which a share of the requests finished, interpolated linearly within its bucket. */
function percentileOf(histogram: Histogram, total: number, share: number): number {
  const targetCount = total * share
  let cumulative = 0
  for (let bucket = 0; bucket <= latencyBucketsMs.length; bucket += 1) {
    const count = histogram.get(bucket) ?? 0
    if (count > 0 && cumulative + count >= targetCount) {
      const low = latencyBucketsMs[bucket - 1] ?? 0
      const high = latencyBucketsMs[bucket] ?? low * 2
      return Math.round(low + ((high - low) * (targetCount - cumulative)) / count)
    }
    cumulative += count
  }
  return 0
}

function totalOf(histogram: Histogram): number {
  return histogram.values().reduce((sum, count) => sum + count, 0)
}

function percentilesOf(histogram: Histogram): Percentiles | null {
  const total = totalOf(histogram)
  if (total === 0) return null
  const [p50 = 0, p95 = 0, p99 = 0] = [0.5, 0.95, 0.99].map((share) => percentileOf(histogram, total, share))
  return { p50, p95, p99 }
}

function latencyOf(rows: readonly Row[]): Latency {
  const histograms = { first_token: new Map<number, number>(), duration: new Map<number, number>() }
  for (const { measure, bucket, requests } of rows) {
    const histogram = measure === 'duration' ? histograms.duration : histograms.first_token
    histogram.set(bucket, (histogram.get(bucket) ?? 0) + requests)
  }
  return {
    requests: totalOf(histograms.duration),
    firstToken: percentilesOf(histograms.first_token),
    duration: percentilesOf(histograms.duration),
  }
}

async function histogramRows(db: Db, { account, from, to, model }: LatencyFilter): Promise<Row[]> {
  const parameters: Parameter[] = [account ?? '', Math.floor(from / dayMs) * dayMs, to]
  if (model !== undefined) parameters.push(model)
  return db.report<Row>({
    sql: `select model, measure, bucket, sum(requests) as requests from latency_daily
      where account_id = ? and day >= ? and day < ?${model === undefined ? '' : ' and model = ?'}
      group by model, measure, bucket`,
    parameters,
  })
}

/** For all models together and for each model. */
export async function loadLatency(
  db: Db,
  filter: LatencyFilter,
): Promise<{ total: Latency; models: Map<string, Latency> }> {
  const rows = await histogramRows(db, filter)
  const byModel = Map.groupBy(rows, ({ model }) => model)
  return {
    total: latencyOf(rows),
    models: new Map(Array.from(byModel, ([model, own]) => [model, latencyOf(own)])),
  }
}
