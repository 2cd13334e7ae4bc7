/** `/requests.csv`: the requests of one day or another time range as a file. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import type { Db } from '../../../db/db.ts'
import { apiError } from '../../../errors.ts'
import { listRequests, type RequestFilter, type RequestRecord } from '../../../usage/request-records.ts'
import { csvResponse, type CsvCell } from '../../csv.ts'
import { requireAccount } from '../accounts/accounts.ts'
import type { AdminContext } from '../admin-context.ts'
import { errorResponses, timeQuery } from '../schemas.ts'
import { formatTime, parseTime } from '../../api/json-values.ts'
import { outcome } from './requests.ts'

const rowsPerPage = 1000
const dayMs = 86_400_000

const columns = [
  'time',
  'request_id',
  'account',
  'key',
  'model',
  'upstream',
  'outcome',
  'http_status',
  'stream',
  'finish',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'usage_source',
  'cost',
  'currency',
  'first_token_ms',
  'duration_ms',
  'count',
] as const satisfies (keyof RequestRecord)[]

/** Newest first, so that rows written during the export do not shift the pages. */
async function* readPages(db: Db, filter: RequestFilter): AsyncGenerator<CsvCell[][], void> {
  let cursor: string | undefined
  do {
    const page = await listRequests(db, filter, { limit: rowsPerPage, ...(cursor && { cursor }) })
    yield page.data.map((record) => [...columns.map((column) => record[column]), record.attempts.length])
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
}

const read = createRoute({
  method: 'get',
  path: '/requests.csv',
  summary: 'Export the requests of one day or another time range',
  request: {
    query: z.strictObject({
      day: z.iso
        .date({ error: 'must be a date such as "2026-11-21"' })
        .optional()
        .meta({ description: 'A day in UTC. Required without `from`.', example: '2026-11-21' }),
      from: timeQuery.optional(),
      to: timeQuery.optional().meta({ description: 'Exclusive; only with `from`.' }),
      account: z.string().optional().meta({ description: 'The id of an account.' }),
      key: z.string().optional().meta({ description: 'The id of a key.' }),
      model: z.string().optional(),
      outcome: outcome.optional(),
    }),
  },
  responses: {
    200: {
      description: 'CSV (RFC 4180) with a header line, newest first.',
      content: { 'text/csv': { schema: z.string() } },
    },
    ...errorResponses,
  },
})

interface ExportRange {
  readonly day?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** Throws 400 unless the range is either a day or has a start. */
function rangeOf({ day, from, to }: ExportRange): { from: number; to?: number } {
  const start = parseTime(from)
  const end = parseTime(to)
  if (day !== undefined && start === undefined && end === undefined)
    return { from: Date.parse(day), to: Date.parse(day) + dayMs }
  if (day === undefined && start !== undefined) return { from: start, ...(end !== undefined && { to: end }) }
  throw apiError('invalid_request', {
    param: 'day',
    message: 'Invalid range: pass either `day`, or `from` and, if the range has an end, `to`.',
  })
}

export function requestExportRoutes({ ctx }: AdminContext): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(read, async (c) => {
    const { day, from, to, ...filters } = c.req.valid('query')
    const range = rangeOf({ day, from, to })
    // Without this check, an unknown account would look like one without requests.
    if (filters.account !== undefined) await requireAccount(ctx.db, filters.account)
    const pages = readPages(ctx.db, { ...filters, ...range })
    return csvResponse(c, `requests-${formatTime(range.from).slice(0, 10)}`, {
      head: [...columns, 'attempts'],
      pages,
    })
  })
  return app
}
