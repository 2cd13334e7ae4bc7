/** `/requests.csv`: the requests of one day as a file. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import type { Db } from '../../../db/db.ts'
import { listRequests, type RequestFilter, type RequestRecord } from '../../../usage/request-records.ts'
import { csvResponse, type CsvCell } from '../../csv.ts'
import { requireAccount } from '../accounts/accounts.ts'
import type { AdminContext } from '../admin-context.ts'
import { errorResponses } from '../schemas.ts'

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
  summary: 'Export the requests of one day',
  request: {
    query: z.strictObject({
      day: z.iso
        .date({ error: 'must be a date such as "2026-11-21"' })
        .meta({ description: 'A day in UTC.', example: '2026-11-21' }),
      account: z.string().optional().meta({ description: 'The id of an account.' }),
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

export function requestExportRoutes({ ctx }: AdminContext): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(read, async (c) => {
    const { day, ...filters } = c.req.valid('query')
    // Without this check, an unknown account would look like one without requests.
    if (filters.account !== undefined) await requireAccount(ctx.db, filters.account)
    const from = Date.parse(day)
    const pages = readPages(ctx.db, { ...filters, from, to: from + dayMs })
    return csvResponse(c, `requests-${day}`, { head: [...columns, 'attempts'], pages })
  })
  return app
}
