/** `/accounts/{id}/keys` and `/keys/{id}`: what callers present. The secret is in the answer to its creation only. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { accountById } from '../../../accounts/accounts.ts'
import {
  createKey,
  deleteKey,
  keyById,
  listKeys,
  updateKey,
  type Key,
  type KeyPatch,
} from '../../../accounts/keys.ts'
import { refuse } from '../../../errors.ts'
import { announced, type Desk } from '../desk.ts'
import {
  bodyOf,
  capOf,
  capsIn,
  capsOut,
  capText,
  createdAnswer,
  gone,
  idPath,
  limitsIn,
  limitsOut,
  limitsPatch,
  limitsView,
  listAnswer,
  money,
  msOf,
  okAnswer,
  time,
  timeIn,
  timeOf,
} from '../schemas.ts'
import { shortListFields, shownOf } from '../short-lists.ts'

const status = z.enum(['active', 'disabled'])
const names = z.array(z.string())
const patchFields = {
  name: z.string().optional(),
  status: status.optional(),
  enabled: z.boolean().optional().meta({ description: 'Another way to say `status`.' }),
  disabled: z.boolean().optional().meta({ description: 'Another way to say `status`.' }),
  expires_at: timeIn.nullish(),
  models: names
    .nullish()
    .meta({ description: 'Names, or beginnings with `*` at their end; none is every model.' }),
  ips: names.nullish().meta({ description: 'Addresses or CIDRs; none is every address.' }),
  caps: capsIn.extend({ total: money.nullish().meta({ description: 'For the key’s life.' }) }).nullish(),
  limits: limitsIn.nullish(),
}
const keyPatch = z.strictObject(patchFields)
const keyIn = z.strictObject({ ...patchFields, name: z.string() })

export const keyOut = z
  .object({
    id: z.string(),
    account: z.string(),
    name: z.string(),
    prefix: z.string(),
    last_four: z.string(),
    status,
    enabled: z.boolean().meta({ description: 'Is its status `active`?' }),
    expires_at: time.nullable(),
    models: names,
    ips: names,
    caps: capsOut.extend({ total: money.nullable() }),
    limits: limitsOut.meta({ description: 'Its own; null is none.' }),
    created_at: time,
    last_used_at: time.nullable(),
  })
  .openapi('Key')
export const newKeyOut = keyOut
  .extend({ secret: z.string().meta({ description: 'Only here, only now.' }) })
  .openapi('NewKey')

export function keyView(key: Key): z.infer<typeof keyOut> {
  return {
    id: key.id,
    account: key.accountId,
    name: key.name,
    prefix: key.prefix,
    last_four: key.lastFour,
    status: key.status,
    enabled: key.status === 'active',
    expires_at: timeOf(key.expiresAt),
    models: [...(key.models ?? [])],
    ips: [...(key.ips ?? [])],
    caps: {
      daily: capText(key.caps.dailyNanos),
      monthly: capText(key.caps.monthlyNanos),
      total: capText(key.caps.totalNanos),
    },
    limits: limitsView(key.limits),
    created_at: timeOf(key.createdAt),
    last_used_at: timeOf(key.lastUsedAt),
  }
}

/** The status that is asked for, in whichever words; undefined: none. Throws 400 where they contradict each other. */
function statusOf({ status: named, enabled, disabled }: z.infer<typeof keyPatch>): Key['status'] | undefined {
  const isOn = [named && named === 'active', enabled, disabled === undefined ? undefined : !disabled]
  const said = new Set(isOn.filter((each) => each !== undefined))
  if (said.size > 1) {
    const message = 'status, enabled and disabled contradict each other.'
    throw refuse('invalid_request', { param: 'status', message })
  }
  const [first] = said
  if (first === undefined) return undefined
  return first ? 'active' : 'disabled'
}

const noCaps = { daily: null, monthly: null, total: null }

function patchOf(given: z.infer<typeof keyPatch>): KeyPatch {
  const { name, models, ips, expires_at: expiresAt, caps, limits } = given
  const { daily, monthly, total } = caps === null ? noCaps : (caps ?? {})
  return {
    name,
    models,
    ips,
    status: statusOf(given),
    expiresAt: msOf(expiresAt),
    caps: {
      dailyNanos: capOf(daily, 'caps.daily'),
      monthlyNanos: capOf(monthly, 'caps.monthly'),
      totalNanos: capOf(total, 'caps.total'),
    },
    limits: limitsPatch(limits),
  }
}

const create = createRoute({
  method: 'post',
  path: '/accounts/{id}/keys',
  summary: 'Create a key',
  request: { params: idPath, body: bodyOf(keyIn) },
  responses: createdAnswer(newKeyOut, 'The key with its secret.'),
})
const list = createRoute({
  method: 'get',
  path: '/accounts/{id}/keys',
  summary: 'List an account’s keys, oldest first',
  request: { params: idPath, query: z.strictObject(shortListFields) },
  responses: listAnswer(keyOut, 'All its keys.'),
})
const read = createRoute({
  method: 'get',
  path: '/keys/{id}',
  summary: 'Read a key',
  request: { params: idPath },
  responses: okAnswer(keyOut, 'The key, without its secret.'),
})
const update = createRoute({
  method: 'patch',
  path: '/keys/{id}',
  summary: 'Disable, rename, restrict; null removes a cap or a limit, or all of them',
  request: { params: idPath, body: bodyOf(keyPatch) },
  responses: okAnswer(keyOut, 'The key as it is now.'),
})
const remove = createRoute({
  method: 'delete',
  path: '/keys/{id}',
  summary: 'Delete a key for good',
  request: { params: idPath },
  responses: okAnswer(gone, 'It is refused everywhere from now on.'),
})

export function keyRoutes(desk: Desk): OpenAPIHono {
  const { house, by } = desk
  const { db, config } = house
  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const given = c.req.valid('json')
    const input = { ...patchOf(given), accountId: c.req.valid('param').id, name: given.name }
    const key = await announced(desk, createKey(db, input, { by, keysMax: config.keysPerAccount }))
    return c.json({ ...keyView(key), secret: key.secret }, 201)
  })
  app.openapi(list, async (c) => {
    const { id } = c.req.valid('param')
    if ((await accountById(db, id)) === undefined) {
      throw refuse('not_found', { message: 'There is no such account.' })
    }
    const keys = (await listKeys(db, id)).map(keyView)
    return c.json(
      shownOf(keys, c.req.valid('query'), (key) => key.id),
      200,
    )
  })
  app.openapi(read, async (c) => {
    const key = await keyById(db, c.req.valid('param').id)
    if (key === undefined) throw refuse('not_found', { message: 'There is no such key.' })
    return c.json(keyView(key), 200)
  })
  app.openapi(update, async (c) => {
    const patch = patchOf(c.req.valid('json'))
    return c.json(keyView(await announced(desk, updateKey(db, c.req.valid('param').id, patch, by))), 200)
  })
  app.openapi(remove, async (c) => {
    const { id } = c.req.valid('param')
    await announced(desk, deleteKey(db, id, by))
    return c.json({ id, deleted: true as const }, 200)
  })
  return app
}
