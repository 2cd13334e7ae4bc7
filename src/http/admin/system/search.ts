/** `/search`, `/settings` and `/backups`: finding anything by whatever a customer quotes, and the installation itself. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { settings } from '../../../config.ts'
import { sql } from '../../../db/schema/schema.ts'
import { beginning } from '../../../lib/beginning.ts'
import { found, type Found } from '../../console/contract/operator.ts'
import type { Desk } from '../desk.ts'
import { okAnswer, timeOf } from '../schemas.ts'

const foundMost = 20

const search = createRoute({
  method: 'get',
  path: '/search',
  summary: 'Find accounts, keys, requests, models and upstreams by e-mail address, name, key prefix or id',
  request: { query: z.strictObject({ q: z.string().trim().min(2).max(200) }) },
  responses: okAnswer(z.object({ data: z.array(found) }), 'What was found, at most 20.'),
})
const settingOut = z
  .object({
    env: z.string(),
    group: z.string(),
    doc: z.string(),
    allowed: z.string(),
    standard: z.string(),
    value: z.string().nullable().meta({ description: 'Of secrets only whether they are set.' }),
    secret: z.boolean(),
  })
  .openapi('Setting')
const showSettings = createRoute({
  method: 'get',
  path: '/settings',
  summary: 'Every setting as this relay runs with it',
  responses: okAnswer(z.object({ data: z.array(settingOut) }), 'The settings.'),
})

async function foundAccounts({ house: { db } }: Desk, q: string): Promise<Found[]> {
  const [low, high] = beginning(q.toLowerCase())
  const rows = await db.report<{ id: string; email: string; name: string }>({
    sql: `select id, email, name from accounts where email_normalised >= ? and email_normalised < ?
      union select id, email, name from accounts where id = ? limit ${foundMost}`,
    parameters: [low, high, q],
  })
  return rows.map((row) => ({ kind: 'account', ...row }))
}

async function foundKeys({ house: { db } }: Desk, q: string): Promise<Found[]> {
  const isId = q.startsWith('key_')
  const isSecret = q.startsWith('sk-')
  if (!isId && !isSecret) return []
  const query = sql.selectFrom('keys').select(['id', 'name', 'prefix', 'account_id']).limit(foundMost)
  const shown = q.slice(0, 11)
  const rows = await db.report(isId ? query.where('id', '=', q) : query.where('prefix', '=', shown))
  return rows.map(({ id, name, prefix, account_id: account }) => ({ kind: 'key', id, name, prefix, account }))
}

async function foundRequests({ house: { db } }: Desk, q: string): Promise<Found[]> {
  if (!q.startsWith('req_')) return []
  const query = sql
    .selectFrom('requests')
    .select(['request_id', 'at', 'account_id'])
    .where('request_id', '=', q)
  const rows = await db.report(query)
  return rows.map((row) => ({
    kind: 'request',
    id: row.request_id,
    time: timeOf(row.at),
    account: row.account_id,
  }))
}

function foundOffers({ house: { catalog } }: Desk, q: string): Found[] {
  const asked = q.toLowerCase()
  const models = catalog.models().filter(({ id }) => id.toLowerCase().includes(asked))
  const upstreams = catalog
    .upstreams()
    .filter(({ id, name }) => id === q || name.toLowerCase().includes(asked))
  return [
    ...models.map(({ id }): Found => ({ kind: 'model', id })),
    ...upstreams.map(({ id, name }): Found => ({ kind: 'upstream', id, name })),
  ]
}

function valueText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return value.length === 0 ? null : value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export function officeRoutes(desk: Desk): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(search, async (c) => {
    const { q } = c.req.valid('query')
    const parts = await Promise.all([foundRequests(desk, q), foundKeys(desk, q), foundAccounts(desk, q)])
    return c.json({ data: [...parts.flat(), ...foundOffers(desk, q)].slice(0, foundMost) }, 200)
  })
  app.openapi(showSettings, (c) => {
    const { config } = desk.house
    const data = Object.entries(settings).map(([name, setting]) => {
      const value = valueText(config[name as keyof typeof config])
      const isSecret = 'secret' in setting
      const shown = isSecret && value !== null ? '•••' : value
      const { env, group, doc, allowed, standard } = setting
      return { env, group, doc, allowed, standard, value: shown, secret: isSecret }
    })
    return c.json({ data }, 200)
  })
  return app
}
