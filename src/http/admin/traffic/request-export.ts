/** `/requests.csv`: every request of one day, as a file. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import type { Db } from '../../../db/db.ts'
import { listRequests, type RequestFilter, type RequestRecord } from '../../../usage/request-records.ts'
import { csvAnswer, type Cell } from '../../csv.ts'
import { knownAccount } from '../accounts/accounts.ts'
import type { Desk } from '../desk.ts'
import { refusals } from '../schemas.ts'

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
] as const satisfies (keyof RequestRecord)[]

/** Newest first, so that what is written meanwhile moves nothing. */
async function* pagesOf(db: Db, filter: RequestFilter): AsyncGenerator<Cell[][], void> {
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
        .date({ error: 'has to be a day such as "2026-11-21"' })
        .meta({ description: 'In UTC.', example: '2026-11-21' }),
      account: z.string().optional().meta({ description: 'Its id.' }),
    }),
  },
  responses: {
    200: {
      description: 'CSV (RFC 4180) with a head line, newest first.',
      content: { 'text/csv': { schema: z.string() } },
    },
    ...refusals,
  },
})

export function requestExportRoutes({ house }: Desk): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(read, async (c) => {
    const { day, ...named } = c.req.valid('query')
    // A file with nothing but its head would pass for an account without requests.
    if (named.account !== undefined) await knownAccount(house.db, named.account)
    const from = Date.parse(day)
    const pages = pagesOf(house.db, { ...named, from, to: from + dayMs })
    return csvAnswer(c, `requests-${day}`, { head: [...columns, 'attempts'], pages })
  })
  return app
}
