/** `/keys`: search and sort the keys of all accounts, with their spend. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { emailsOfAccounts } from '../../../accounts/accounts.ts'
import { keyOrders, keyStates, searchKeys } from '../../../accounts/key-search.ts'
import { spendByKeys } from '../../../usage/key-spend.ts'
import type { AdminContext } from '../admin-context.ts'
import { keySchema, serializeKey } from './keys.ts'
import { listResponse, spentSchema } from '../schemas.ts'
import { pageFields } from '../../api/pagination.ts'
import { decodeCursor, encodeCursor, serializeSpent } from '../../api/json-values.ts'

export const listedKeySchema = keySchema
  .extend({
    account_email: z.string(),
    expired: z.boolean().meta({ description: 'An expired key is rejected, whatever its status.' }),
    spent: spentSchema,
  })
  .openapi('ListedKey')

const list = createRoute({
  method: 'get',
  path: '/keys',
  summary: 'Search the keys of all accounts, with their spend; by default newest first',
  request: {
    query: z.strictObject({
      ...pageFields,
      // A cursor may contain a name, which has up to 100 characters.
      cursor: z.string().max(1000).optional().meta({ description: '`next` of the previous page.' }),
      q: z.string().trim().max(300).optional().meta({
        description: 'Part of a name, the start of a secret or of the account’s e-mail address, or an id.',
      }),
      account: z.string().optional(),
      status: z
        .enum(keyStates)
        .optional()
        .meta({ description: '`expired` matches expired keys of any status.' }),
      sort: z.enum(keyOrders).default('newest'),
    }),
  },
  responses: listResponse(listedKeySchema, 'A page of keys.'),
})

export function keyListRoutes({ ctx: { db } }: AdminContext): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const { q, account, status, sort, limit, cursor } = c.req.valid('query')
    const now = Date.now()
    const filter = { search: q, accountId: account, state: status }
    const page = { order: sort, limit, cursor: decodeCursor(cursor, /^\w+ key_/), now }
    const { data, next } = await searchKeys(db, filter, page)
    const ids = data.map(({ id }) => id)
    const accountIds = [...new Set(data.map(({ accountId }) => accountId))]
    const [spent, emails] = await Promise.all([spendByKeys(db, ids, now), emailsOfAccounts(db, accountIds)])
    const views = data.map((key) => ({
      ...serializeKey(key),
      account_email: emails.get(key.accountId) ?? '',
      expired: key.expiresAt !== null && key.expiresAt <= now,
      spent: serializeSpent(spent.get(key.id)),
    }))
    return c.json({ data: views, next: encodeCursor(next) }, 200)
  })
  return app
}
