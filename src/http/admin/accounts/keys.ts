/** `/accounts/{id}/keys` and `/keys`: the API keys of callers. Only the response to a creation has the secret. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { keyScopeColumns } from '../../csv-export.ts'
import { view } from '../../api/define-endpoints.ts'
import { admin } from '../admin-context.ts'
import type { Db } from '../../../db/db.ts'
import { emailsOfAccounts } from '../../../accounts/accounts.ts'
import {
  keyOrders,
  keyStates,
  searchKeys,
  type KeyFilter,
  type KeyPage,
} from '../../../accounts/key-search.ts'
import { spendByKeys } from '../../../usage/key-spend.ts'
import { requireAccount } from './accounts.ts'
import {
  spentSchema,
  capsInput,
  capsSchema,
  limitsInput,
  limitsSchema,
  toLimitsPatch,
  money,
  returnedOnce,
  time,
  timeInput,
} from '../schemas.ts'
import { serializeSpent, parseOptionalAmount, serializeLimits, parseTime } from '../../api/json-values.ts'
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

export const listedKeySchema = keySchema
  .extend({
    account_email: z.string(),
    expired: z.boolean().meta({ description: 'An expired key is rejected, whatever its status.' }),
    spent: spentSchema,
  })
  .openapi('ListedKey')

function serializeKey(key: Key): z.infer<typeof keySchema> {
  return {
    ...jsonFields(key),
    account: key.accountId,
    enabled: key.status === 'active',
    models: [...(key.models ?? [])],
    ips: [...(key.ips ?? [])],
    limits: serializeLimits(key.limits),
  }
}

const keyView = view('key', keySchema, serializeKey)

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

/** A page of the keys of all accounts, with their spend. */
async function searchListedKeys(db: Db, filter: KeyFilter, page: Omit<KeyPage, 'now'>) {
  const now = Date.now()
  const { data, next } = await searchKeys(db, filter, { ...page, now })
  const ids = data.map(({ id }) => id)
  const accountIds = [...new Set(data.map(({ accountId }) => accountId))]
  const [spent, emails] = await Promise.all([spendByKeys(db, ids, now), emailsOfAccounts(db, accountIds)])
  const keys = data.map((key) => ({
    ...serializeKey(key),
    account_email: emails.get(key.accountId) ?? '',
    expired: key.expiresAt !== null && key.expiresAt <= now,
    spent: serializeSpent(spent.get(key.id)),
  }))
  return { data: keys, next }
}

export const keyEndpoints = [
  admin.create('/accounts/{id}/keys', {
    summary: 'Create a key',
    body: keyInput,
    response: newKeySchema,
    returns: 'The key with its secret.',
    async handle({ ctx, by, params, body, publish }) {
      const input = { ...toKeyPatch(body), accountId: params.id, name: body.name }
      const key = await publish(createKey(ctx.db, input, { by, maxKeys: ctx.config.keysPerAccount }))
      return { ...serializeKey(key), secret: key.secret }
    },
  }),
  admin.list('/accounts/{id}/keys', {
    summary: 'List the keys of an account, oldest first',
    item: keyView,
    returns: 'All its keys.',
    idOf: ({ id }) => id,
    handle: async ({ ctx: { db }, params }) => listKeys(db, (await requireAccount(db, params.id)).id),
  }),
  admin.get('/keys/{id}', {
    summary: 'Get a key',
    response: keyView,
    returns: 'The key, without its secret.',
    handle: ({ ctx, params }) => keyById(ctx.db, params.id),
  }),
  admin.patch('/keys/{id}', {
    summary: 'Update a key: rename, disable or restrict it; null removes a cap or a limit, or all of them',
    body: keyPatch,
    response: keyView,
    handle: ({ ctx, by, params, body, publish }) =>
      publish(updateKey(ctx.db, params.id, toKeyPatch(body), by)),
  }),
  admin.delete('/keys/{id}', {
    summary: 'Delete a key permanently',
    returns: 'Deleted: every node rejects the key from now on.',
    handle: ({ ctx, by, params, publish }) => publish(deleteKey(ctx.db, params.id, by)),
  }),
  admin.page('/keys', {
    summary: 'Search the keys of all accounts, with their spend; by default newest first',
    item: listedKeySchema,
    returns: 'A page of keys.',
    filters: {
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
    },
    cursor: /^\w+ key_/,
    csv: [
      'id',
      'name',
      'account',
      'account_email',
      'prefix',
      'last_four',
      'status',
      'expired',
      'expires_at',
      ...keyScopeColumns,
      'created_at',
      'last_used_at',
    ],
    handle: ({ ctx: { db }, query: { q, account, status: state, sort: order }, page }) =>
      searchListedKeys(db, { search: q, accountId: account, state }, { ...page, order }),
  }),
]
