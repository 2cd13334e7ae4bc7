/** `/keys`: those of all accounts, found and ordered, with what they have spent. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { emailsOfAccounts } from '../../../accounts/accounts.ts'
import { keyOrders, keyStates, pageOfKeys } from '../../../accounts/key-list.ts'
import { spentByKeys } from '../../../usage/key-spend.ts'
import type { Desk } from '../desk.ts'
import { keyOut, keyView } from './keys.ts'
import { listAnswer, openedCursor, pageFields, sealedCursor, spentOut, spentView } from '../schemas.ts'

export const listedKeyOut = keyOut
  .extend({
    account_email: z.string(),
    expired: z.boolean().meta({ description: 'Whatever its status says, it is refused.' }),
    spent: spentOut,
  })
  .openapi('ListedKey')

const list = createRoute({
  method: 'get',
  path: '/keys',
  summary:
    'Find keys of all accounts, with what they have spent; newest first unless another order is asked for',
  request: {
    query: z.strictObject({
      ...pageFields,
      // A name has up to 100 characters, and a cursor may hold one.
      cursor: z.string().max(1000).optional().meta({ description: '`next` of the page before.' }),
      q: z.string().trim().max(300).optional().meta({
        description:
          'A part of a name, the beginning of a secret or of the account’s e-mail address, or an id.',
      }),
      account: z.string().optional(),
      status: z.enum(keyStates).optional().meta({ description: '`expired`: whatever it was before.' }),
      sort: z.enum(keyOrders).default('newest'),
    }),
  },
  responses: listAnswer(listedKeyOut, 'A page of keys.'),
})

export function keyListRoutes({ house: { db } }: Desk): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const { q, account, status, sort, limit, cursor } = c.req.valid('query')
    const now = Date.now()
    const filter = { sought: q, accountId: account, state: status }
    const page = { order: sort, limit, cursor: openedCursor(cursor, /^\w+ key_/), now }
    const { data, next } = await pageOfKeys(db, filter, page)
    const ids = data.map(({ id }) => id)
    const accountIds = [...new Set(data.map(({ accountId }) => accountId))]
    const [spent, emails] = await Promise.all([spentByKeys(db, ids, now), emailsOfAccounts(db, accountIds)])
    const views = data.map((key) => ({
      ...keyView(key),
      account_email: emails.get(key.accountId) ?? '',
      expired: key.expiresAt !== null && key.expiresAt <= now,
      spent: spentView(spent.get(key.id)),
    }))
    return c.json({ data: views, next: sealedCursor(next) }, 200)
  })
  return app
}
