/**
 * Writes many past requests straight into the database of a stopped relay, so that pages can be measured over millions
 * of rows within minutes. The requests cost nothing, because they have no ledger entries.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { advanceRollUpCursorSql } from '../../src/db/rollup-cursor.ts'
import { rollUpSql } from '../../src/usage/rollups/rollup.ts'

export interface HistoryOptions {
  /** Spread over the last `days` days. */
  readonly rows: number
  readonly days: number
  readonly account: string
  readonly keys: readonly string[]
  readonly models: readonly string[]
}

const batchRows = 100_000

/** One row in a thousand has failed; a tenth belongs to the account, the others to a thousand other accounts in turn. */
const insertText = `
with recursive counter (n) as (select cast(? as integer) union all select n + 1 from counter where n + 1 < ?)
insert into requests (request_id, at, account_id, key_id, model, upstream_id, http_status, outcome, stream, finish,
  prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, usage_source, cost_nanos, upstream_cost_nanos,
  first_token_ms, duration_ms, attempts, error_code, hold_nanos, price_version)
select 'req_past' || printf('%018d', n), ? + cast(n * ? as integer),
  case when n % 10 = 0 then ? else 'acc_other' || (n / 50 % 1000) end,
  case when n % 10 = 0 then json_extract(?, '$[' || (n / 10 % json_array_length(?)) || ']') else 'key_other' || (n / 50 % 3000) end,
  json_extract(?, '$[' || (n / 7 % json_array_length(?)) || ']'), 'ups_past',
  case when n % 1000 = 0 then 503 else 200 end, case when n % 1000 = 0 then 'failed' else 'ok' end, n % 2, 'stop',
  100 + n % 900, 0, 10 + n % 90, 0, 'provider', 0, 0, 100 + n % 400, 500 + n % 5000, '[]',
  case when n % 1000 = 0 then 'upstream_unavailable' end, 0, 1
from counter`

/** Writes the rows and their roll-ups. The relay must be stopped. */
export function writeHistory(dataDir: string, options: HistoryOptions): void {
  const database = new DatabaseSync(join(dataDir, 'sluice.db'))
  database.exec('pragma journal_mode = wal; pragma synchronous = off; pragma cache_size = -262144')
  const { rows, days, account } = options
  const spanMs = days * 86_400_000
  const first = Date.now() - spanMs
  const keys = JSON.stringify(options.keys)
  const models = JSON.stringify(options.models)
  const insert = database.prepare(insertText)
  const rollUps = rollUpSql.map((text) => database.prepare(text))
  const lastRow = database.prepare('select coalesce(max(row_id), 0) as last from requests')
  const last = (): number => Number(lastRow.get()?.['last'])
  for (let from = 0; from < rows; from += batchRows) {
    const before = last()
    database.exec('begin')
    insert.run(
      from,
      Math.min(rows, from + batchRows),
      first,
      spanMs / rows,
      account,
      keys,
      keys,
      models,
      models,
    )
    for (const rollUp of rollUps) rollUp.run(before, last())
    database.prepare(advanceRollUpCursorSql).run(last())
    database.exec('commit')
  }
  // Flush now: otherwise the relay's first commit would wait for gigabytes of these rows.
  database.exec('pragma synchronous = full; pragma wal_checkpoint(truncate)')
  database.close()
}

/** The smallest value that at least this share of the values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((left, right) => left - right)[Math.ceil(values.length * share) - 1] ?? 0
}
