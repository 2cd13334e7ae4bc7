/** `/search`: finds objects by whatever a customer quotes. */
import { z } from '@hono/zod-openapi'
import { admin } from '../admin-context.ts'
import type { AppContext } from '../../app-context.ts'
import { sql } from '../../../db/schema/schema.ts'
import { prefixRange } from '../../../db/db.ts'
import { time } from '../../api/json-schemas.ts'
import { formatTime } from '../../api/json-values.ts'

const maxResults = 20

export const searchResult = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('account'), id: z.string(), email: z.string(), name: z.string() }),
  z.object({
    kind: z.literal('key'),
    id: z.string(),
    name: z.string(),
    prefix: z.string(),
    account: z.string(),
  }),
  z.object({ kind: z.literal('request'), id: z.string(), time, account: z.string() }),
  z.object({ kind: z.literal('model'), id: z.string() }),
  z.object({ kind: z.literal('upstream'), id: z.string(), name: z.string() }),
])
export type SearchResult = z.infer<typeof searchResult>

async function findAccounts({ db }: AppContext, q: string): Promise<SearchResult[]> {
  const [low, high] = prefixRange(q.toLowerCase())
  const rows = await db.report<{ id: string; email: string; name: string }>({
    sql: `select id, email, name from accounts where email_normalised >= ? and email_normalised < ?
      union select id, email, name from accounts where id = ? limit ${maxResults}`,
    parameters: [low, high, q],
  })
  return rows.map((row) => ({ kind: 'account', ...row }))
}

async function findKeys({ db }: AppContext, q: string): Promise<SearchResult[]> {
  const isId = q.startsWith('key_')
  const isSecret = q.startsWith('sk-')
  if (!isId && !isSecret) return []
  const query = sql.selectFrom('keys').select(['id', 'name', 'prefix', 'account_id']).limit(maxResults)
  const shown = q.slice(0, 11)
  const rows = await db.report(isId ? query.where('id', '=', q) : query.where('prefix', '=', shown))
  return rows.map(({ id, name, prefix, account_id: account }) => ({ kind: 'key', id, name, prefix, account }))
}

async function findRequests({ db }: AppContext, q: string): Promise<SearchResult[]> {
  if (!q.startsWith('req_')) return []
  const query = sql
    .selectFrom('requests')
    .select(['request_id', 'at', 'account_id'])
    .where('request_id', '=', q)
  const rows = await db.report(query)
  return rows.map((row) => ({
    kind: 'request',
    id: row.request_id,
    time: formatTime(row.at),
    account: row.account_id,
  }))
}

function findModelsAndUpstreams({ catalog }: AppContext, q: string): SearchResult[] {
  const term = q.toLowerCase()
  const models = catalog.models().filter(({ id }) => id.toLowerCase().includes(term))
  const upstreams = catalog
    .upstreams()
    .filter(({ id, name }) => id === q || name.toLowerCase().includes(term))
  return [
    ...models.map(({ id }): SearchResult => ({ kind: 'model', id })),
    ...upstreams.map(({ id, name }): SearchResult => ({ kind: 'upstream', id, name })),
  ]
}

export const searchEndpoints = [
  admin.get('/search', {
    summary:
      'Search accounts, keys, requests, models and upstreams by e-mail address, name, key prefix or id',
    query: { q: z.string().trim().min(2).max(200) },
    response: z.object({ data: z.array(searchResult) }),
    returns: 'The results, at most 20.',
    async handle({ ctx, query: { q } }) {
      const results = await Promise.all([findRequests(ctx, q), findKeys(ctx, q), findAccounts(ctx, q)])
      return { data: [...results.flat(), ...findModelsAndUpstreams(ctx, q)].slice(0, maxResults) }
    },
  }),
]
