/** `/accounts/{id}/keys` and `/keys/{id}`: the API keys of callers. Only the response to a creation has the secret. */
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
import { apiError } from '../../../errors.ts'
import type { AdminContext } from '../admin-context.ts'
import { writeAndPublish } from '../../api/publish.ts'
import {
  jsonBody,
  capsInput,
  capsSchema,
  createdResponse,
  deletedSchema,
  idParams,
  limitsInput,
  limitsSchema,
  toLimitsPatch,
  listResponse,
  money,
  okResponse,
  returnedOnce,
  time,
  timeInput,
} from '../schemas.ts'
import {
  parseOptionalAmount,
  formatOptionalAmount,
  serializeLimits,
  parseTime,
  formatTime,
} from '../../api/json-values.ts'
import { optionalPageFields, paginate } from '../../api/pagination.ts'

const status = z.enum(['active', 'disabled'])
const names = z.array(z.string())
const patchFields = {
  name: z.string().optional(),
  status: status.optional(),
  enabled: z.boolean().optional().meta({ description: 'Alternative to `status`.' }),
  disabled: z.boolean().optional().meta({ description: 'Alternative to `status`.' }),
  expires_at: timeInput.nullish(),
  models: names.nullish().meta({ description: 'Names, or prefixes ending in `*`. Empty: every model.' }),
  ips: names.nullish().meta({ description: 'IP addresses or CIDR ranges. Empty: every address.' }),
  caps: capsInput
    .extend({ total: money.nullish().meta({ description: 'For the lifetime of the key.' }) })
    .nullish(),
  limits: limitsInput.nullish(),
}
const keyPatch = z.strictObject(patchFields)
const keyInput = z.strictObject({ ...patchFields, name: z.string() })

export const keySchema = z
  .object({
    id: z.string(),
    account: z.string(),
    name: z.string(),
    prefix: z.string(),
    last_four: z.string(),
    status,
    enabled: z.boolean().meta({ description: 'Whether `status` is `active`.' }),
    expires_at: time.nullable(),
    models: names,
    ips: names,
    caps: capsSchema.extend({ total: money.nullable() }),
    limits: limitsSchema.meta({ description: 'Limits of this key; null: no limit of its own.' }),
    created_at: time,
    last_used_at: time.nullable(),
  })
  .openapi('Key')
export const newKeySchema = keySchema
  .extend({ secret: z.string().meta({ description: returnedOnce }) })
  .openapi('NewKey')

export function serializeKey(key: Key): z.infer<typeof keySchema> {
  return {
    id: key.id,
    account: key.accountId,
    name: key.name,
    prefix: key.prefix,
    last_four: key.lastFour,
    status: key.status,
    enabled: key.status === 'active',
    expires_at: formatTime(key.expiresAt),
    models: [...(key.models ?? [])],
    ips: [...(key.ips ?? [])],
    caps: {
      daily: formatOptionalAmount(key.caps.dailyNanos),
      monthly: formatOptionalAmount(key.caps.monthlyNanos),
      total: formatOptionalAmount(key.caps.totalNanos),
    },
    limits: serializeLimits(key.limits),
    created_at: formatTime(key.createdAt),
    last_used_at: formatTime(key.lastUsedAt),
  }
}

/** The requested status from any of the three fields; undefined if none is given. Throws 400 if they contradict. */
function resolveStatus({
  status: statusField,
  enabled,
  disabled,
}: z.infer<typeof keyPatch>): Key['status'] | undefined {
  const candidates = [
    statusField && statusField === 'active',
    enabled,
    disabled === undefined ? undefined : !disabled,
  ]
  const values = new Set(candidates.filter((candidate) => candidate !== undefined))
  if (values.size > 1) {
    const message = 'status, enabled and disabled contradict each other.'
    throw apiError('invalid_request', { param: 'status', message })
  }
  const [first] = values
  if (first === undefined) return undefined
  return first ? 'active' : 'disabled'
}

const noCaps = { daily: null, monthly: null, total: null }

function toKeyPatch(body: z.infer<typeof keyPatch>): KeyPatch {
  const { name, models, ips, expires_at: expiresAt, caps, limits } = body
  const { daily, monthly, total } = caps === null ? noCaps : (caps ?? {})
  return {
    name,
    models,
    ips,
    status: resolveStatus(body),
    expiresAt: parseTime(expiresAt),
    caps: {
      dailyNanos: parseOptionalAmount(daily, 'caps.daily'),
      monthlyNanos: parseOptionalAmount(monthly, 'caps.monthly'),
      totalNanos: parseOptionalAmount(total, 'caps.total'),
    },
    limits: toLimitsPatch(limits),
  }
}

const create = createRoute({
  method: 'post',
  path: '/accounts/{id}/keys',
  summary: 'Create a key',
  request: { params: idParams, body: jsonBody(keyInput) },
  responses: createdResponse(newKeySchema, 'The key with its secret.'),
})
const list = createRoute({
  method: 'get',
  path: '/accounts/{id}/keys',
  summary: 'List the keys of an account, oldest first',
  request: { params: idParams, query: z.strictObject(optionalPageFields) },
  responses: listResponse(keySchema, 'All its keys.'),
})
const read = createRoute({
  method: 'get',
  path: '/keys/{id}',
  summary: 'Get a key',
  request: { params: idParams },
  responses: okResponse(keySchema, 'The key, without its secret.'),
})
const update = createRoute({
  method: 'patch',
  path: '/keys/{id}',
  summary: 'Update a key: rename, disable or restrict it; null removes a cap or a limit, or all of them',
  request: { params: idParams, body: jsonBody(keyPatch) },
  responses: okResponse(keySchema, 'The updated key.'),
})
const remove = createRoute({
  method: 'delete',
  path: '/keys/{id}',
  summary: 'Delete a key permanently',
  request: { params: idParams },
  responses: okResponse(deletedSchema, 'Deleted: every node rejects the key from now on.'),
})

export function keyRoutes(admin: AdminContext): OpenAPIHono {
  const { ctx, by } = admin
  const { db, config } = ctx
  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const body = c.req.valid('json')
    const input = { ...toKeyPatch(body), accountId: c.req.valid('param').id, name: body.name }
    const key = await writeAndPublish(admin, createKey(db, input, { by, maxKeys: config.keysPerAccount }))
    return c.json({ ...serializeKey(key), secret: key.secret }, 201)
  })
  app.openapi(list, async (c) => {
    const { id } = c.req.valid('param')
    if ((await accountById(db, id)) === undefined) {
      throw apiError('not_found', { message: 'Account not found.' })
    }
    const keys = (await listKeys(db, id)).map(serializeKey)
    return c.json(
      paginate(keys, c.req.valid('query'), (key) => key.id),
      200,
    )
  })
  app.openapi(read, async (c) => {
    const key = await keyById(db, c.req.valid('param').id)
    if (key === undefined) throw apiError('not_found', { message: 'Key not found.' })
    return c.json(serializeKey(key), 200)
  })
  app.openapi(update, async (c) => {
    const patch = toKeyPatch(c.req.valid('json'))
    return c.json(
      serializeKey(await writeAndPublish(admin, updateKey(db, c.req.valid('param').id, patch, by))),
      200,
    )
  })
  app.openapi(remove, async (c) => {
    const { id } = c.req.valid('param')
    await writeAndPublish(admin, deleteKey(db, id, by))
    return c.json({ id, deleted: true as const }, 200)
  })
  return app
}
