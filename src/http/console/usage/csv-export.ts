/** A customer's lists as CSV, all of each. */
import { namesOfKeys } from '../../../accounts/keys.ts'
import { refuse } from '../../../errors.ts'
import { decimalOf } from '../../../lib/money.ts'
import { pageOfRows } from '../../../usage/request-pages.ts'
import { listMovements } from '../../../usage/statement.ts'
import { refusalOfZod } from '../../admin/problems.ts'
import { timeOf } from '../../admin/schemas.ts'
import { csvAnswer, type Cell } from '../../csv.ts'
import { z } from 'zod'
import { entriesCsvPath } from '../contract/billing.ts'
import { requestFilter, requestsCsvPath, type RequestRow } from '../contract/usage.ts'
import { filterOf, rowView } from '../requests.ts'
import { accountIdOf, comeIn, type ConsoleApp, type ConsoleContext, type ConsoleDesk } from '../visit.ts'

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
] as const satisfies (keyof RequestRow)[]

async function* requestPages(
  { house: { db } }: ConsoleDesk,
  filter: Parameters<typeof pageOfRows>[1],
): AsyncGenerator<Cell[][], void> {
  const names = new Map<string, string>()
  let cursor: string | undefined
  do {
    const page = await pageOfRows(db, filter, { limit: rowsPerPage, cursor })
    const unknown = new Set(page.rows.map((row) => row.key_id).filter((key) => !names.has(key)))
    for (const [id, name] of await namesOfKeys(db, [...unknown])) names.set(id, name)
    yield page.rows.map((row) => {
      const view = rowView(row, names)
      return requestColumns.map((column) => view[column])
    })
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
}

async function* entryPages({ house: { db } }: ConsoleDesk, account: string): AsyncGenerator<Cell[][], void> {
  let cursor: string | undefined
  do {
    const page = await listMovements(db, account, { limit: rowsPerPage, cursor })
    yield page.data.map(({ id, at, kind, amountNanos, balanceNanos, source, reason, reference }) => {
      const ofRequest = kind === 'charge' ? reference : null
      return [
        timeOf(at),
        id,
        kind,
        decimalOf(amountNanos),
        decimalOf(balanceNanos),
        source,
        reason,
        ofRequest,
      ]
    })
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
}

const entryColumns = ['time', 'id', 'kind', 'amount', 'balance', 'source', 'reason', 'request_id']
const requestQuery = z.strictObject(requestFilter)

async function accountOf(desk: ConsoleDesk, context: ConsoleContext): Promise<string> {
  const signedIn = await comeIn(desk, 'customer', context)
  const account = signedIn === null ? null : accountIdOf(signedIn)
  if (account === null) throw refuse('no_account')
  return account
}

export function csvRoutes(app: ConsoleApp, desk: ConsoleDesk): void {
  app.get(requestsCsvPath, async (context) => {
    const account = await accountOf(desk, context)
    const query = requestQuery.safeParse(context.req.query())
    if (!query.success) throw refusalOfZod(query.error)
    const pages = requestPages(desk, filterOf(account, query.data))
    return csvAnswer(context, 'requests', { head: requestColumns, pages })
  })
  app.get(entriesCsvPath, async (context) => {
    const pages = entryPages(desk, await accountOf(desk, context))
    return csvAnswer(context, 'entries', { head: entryColumns, pages })
  })
}
