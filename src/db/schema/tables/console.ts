/** Tables of the console: roll-ups, owned by usage/; limit requests, by accounts/; announcements, by notifications/. */

export interface TrafficHourlyTable {
  /** The start of the hour, UTC. */
  hour: number
  /** Empty for unknown models. */
  model: string
  requests: number
  errors: number
  cost_nanos: bigint
  upstream_cost_nanos: bigint
  /** null in hours before it was recorded, until traffic-tokens.ts fills it in; likewise the next. */
  prompt_tokens: number | null
  completion_tokens: number | null
  /** Requests at an unknown cost; null in hours before it was recorded, see usage/unknown-costs.ts. */
  unpriced_requests: number | null
}

export interface LatencyDailyTable {
  /** Empty: all accounts. */
  account_id: string
  /** The start of the day, UTC. */
  day: number
  model: string
  measure: 'first_token' | 'duration'
  /** The index of the bucket in traffic-rollup.ts. */
  bucket: number
  requests: number
}

export interface FailuresHourlyTable {
  hour: number
  cause: string
  /** Empty: no upstream was called. */
  upstream_id: string
  model: string
  http_status: number
  requests: number
  first_at: number
  last_at: number
  /** The id of one of the requests. */
  sample: string
}

export interface LimitRequestsTable {
  id: string
  account_id: string
  /** JSON object of the requested limits. */
  wanted: string
  reason: string
  status: 'open' | 'granted' | 'declined'
  answer: string | null
  created_at: number
  answered_at: number | null
}

export interface AnnouncementsTable {
  id: string
  /** JSON object by language. */
  title: string
  message: string
  severity: 'info' | 'warning' | 'critical'
  begins_at: number
  ends_at: number | null
  created_at: number
}

export interface ConsoleTables {
  traffic_hourly: TrafficHourlyTable
  latency_daily: LatencyDailyTable
  failures_hourly: FailuresHourlyTable
  limit_requests: LimitRequestsTable
  announcements: AnnouncementsTable
}
