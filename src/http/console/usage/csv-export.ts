/** A customer's requests and ledger entries as CSV, without pages. */
import { namesOfKeys } from '../../../accounts/keys.ts'
import { reportsOfAccount, type Db } from '../../../db/db.ts'
import { apiError } from '../../../errors.ts'
import { formatAmount } from '../../../lib/money.ts'
import { listRequestRows } from '../../../usage/request-pages.ts'
import { listMovements } from '../../../usage/statement.ts'
import { apiErrorFromZod } from '../../api/thrown-errors.ts'
import { formatTime } from '../../api/json-values.ts'
import { csvResponse, type CsvCell } from '../../csv.ts'
import { z } from 'zod'
import { entriesCsvPath } from '../contract/billing.ts'
import { requestFilter, requestsCsvPath, type RequestRow } from '../contract/usage.ts'
import { toRequestFilter, serializeRequest } from './requests.ts'
import {
  getActiveAccountId,
  authorize,
  type ConsoleApp,
  type HonoContext,
  type ConsoleDeps,
} from '../context.ts'

const rowsPerPage = 1000

const requestColumns = [
  'time',
  'request_id',
  'key',
  'key_name',
  'model',
  'outcome',
  'http_status',
  'error_code',
  'stream',
  'finish',
  'prompt_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'usage_source',
  'cost',
  'first_token_ms',
  'duration_ms',
  'count',
] as const satisfies (keyof RequestRow)[]

async function* readRequestPages(
  db: Db,
  filter: Parameters<typeof listRequestRows>[1],
): AsyncGenerator<CsvCell[][], void> {
  const names = new Map<string, string>()
  let cursor: string | undefined
  do {
    const page = await listRequestRows(db, filter, { limit: rowsPerPage, cursor })
    const unknown = new Set(page.rows.map((row) => row.key_id).filter((key) => !names.has(key)))
    for (const [id, name] of await namesOfKeys(db, [...unknown])) names.set(id, name)
    yield page.rows.map((row) => {
      const json = serializeRequest(row, names)
      return requestColumns.map((column) => json[column])
    })
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
}

async function* readEntryPages(db: Db, account: string): AsyncGenerator<CsvCell[][], void> {
  let cursor: string | undefined
  do {
    const page = await listMovements(db, account, { limit: rowsPerPage, cursor })
    yield page.data.map(({ id, at, kind, amountNanos, balanceNanos, source, reason, reference }) => {
      const requestId = kind === 'charge' ? reference : null
      return [
        formatTime(at),
        id,
        kind,
        formatAmount(amountNanos),
        formatAmount(balanceNanos),
        source,
        reason,
        requestId,
      ]
    })
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
}

const entryColumns = ['time', 'id', 'kind', 'amount', 'balance', 'source', 'reason', 'request_id']
const requestQuery = z.strictObject(requestFilter)

async function authorizeAccount(deps: ConsoleDeps, c: HonoContext): Promise<string> {
  const signedIn = await authorize(deps, 'customer', c)
  const account = signedIn === null ? null : getActiveAccountId(signedIn)
  if (account === null) throw apiError('no_account')
  return account
}

export function registerCsvEndpoints(app: ConsoleApp, deps: ConsoleDeps): void {
  app.get(requestsCsvPath, async (c) => {
    const account = await authorizeAccount(deps, c)
    const query = requestQuery.safeParse(c.req.query())
    if (!query.success) throw apiErrorFromZod(query.error)
    const db = reportsOfAccount(deps.ctx.db, account)
    const pages = readRequestPages(db, toRequestFilter(account, query.data))
    return csvResponse(c, 'requests', { head: requestColumns, pages })
  })
  app.get(entriesCsvPath, async (c) => {
    const account = await authorizeAccount(deps, c)
    const pages = readEntryPages(reportsOfAccount(deps.ctx.db, account), account)
    return csvResponse(c, 'entries', { head: entryColumns, pages })
  })
}
