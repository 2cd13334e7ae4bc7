/** `/accounts`: accounts with their balances, caps and limits. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import {
  accountByEmail,
  accountById,
  listAccounts,
  updateAccount,
  type Account,
  type AccountPatch,
} from '../../../accounts/accounts.ts'
import type { Db } from '../../../db/db.ts'
import { apiError } from '../../../errors.ts'
import { formatAmount, formatFactor, parseFactor } from '../../../lib/money.ts'
import { currency } from '../../../usage/request-records.ts'
import { createAccountWithTrial } from '../../api/trial-credit.ts'
import type { TrialCreditResult } from '../../../ledger/credits/grant-trial-credit.ts'
import type { AdminContext } from '../admin-context.ts'
import { writeAndPublish } from '../../api/publish.ts'
import {
  jsonBody,
  capsInput,
  capsSchema,
  createdResponse,
  idParams,
  limitsInput,
  limitsSchema,
  toLimitsPatch,
  listResponse,
  money,
  okResponse,
  time,
} from '../schemas.ts'
import { pageFields } from '../../api/pagination.ts'
import {
  decodeCursor,
  encodeCursor,
  parseOptionalAmount,
  formatOptionalAmount,
  serializeLimits,
  formatTime,
} from '../../api/json-values.ts'

const status = z.enum(['active', 'suspended'])
const factor = z.string().max(64)

const accountInput = z.strictObject({
  email: z.string(),
  name: z.string().optional(),
  tier: z.string().optional(),
  timezone: z.string().optional().meta({ description: 'IANA name. Determines when a day and a month end.' }),
  trial: z
    .boolean()
    .optional()
    .meta({ description: 'Grants the credit of a running promotion, if there is one.' }),
  promotion: z.string().optional().meta({ description: 'The code of a promotion that requires one.' }),
})
const accountPatch = z.strictObject({
  email: z.string().optional(),
  name: z.string().optional(),
  tier: z.string().optional(),
  status: status.optional(),
  caps: capsInput.nullish(),
  low_balance: money.nullish().meta({
    description: 'A balance below this sends a notification. null: a tenth of the last credit; "0": never.',
  }),
  limits: limitsInput.nullish(),
  timezone: z.string().optional(),
  price_factor: factor.nullish().meta({ description: 'null: the factor of the tier.' }),
})
export const accountSchema = z
  .object({
    id: z.string(),
    email: z.string(),
    name: z.string(),
    tier: z.string(),
    status,
    currency: z.string(),
    balance: money,
    held: money,
    available: money,
    spent_today: money,
    spent_month: money,
    caps: capsSchema,
    low_balance: money.nullable(),
    limits: limitsSchema.meta({ description: 'Limits of this account; null: the limit of the tier.' }),
    timezone: z.string(),
    price_factor: factor.nullable(),
    trial: z.boolean(),
    created_at: time,
    updated_at: time,
  })
  .openapi('Account')
const trialCreditSchema = z.object({
  granted: z.boolean(),
  amount: money.nullable(),
  promotion: z.string().nullable().meta({ description: 'The id of the promotion.' }),
  expires_at: time.nullable().meta({ description: 'The unused remainder is taken back then.' }),
  reason: z.enum(['no_promotion', 'granted_before']).nullable().meta({
    description:
      'Why nothing was granted: no promotion is running, or this mailbox already had trial credit.',
  }),
})
const newAccountSchema = accountSchema
  .extend({
    trial_credit: trialCreditSchema.optional().meta({ description: 'Present if `trial` was requested.' }),
  })
  .openapi('NewAccount')

async function serializeAccount(
  { ctx }: AdminContext,
  account: Account,
): Promise<z.infer<typeof accountSchema>> {
  const wallet = await ctx.wallet(account.id, null)
  return {
    id: account.id,
    email: account.email,
    name: account.name,
    tier: account.tier,
    status: account.status,
    currency,
    balance: formatAmount(wallet.balance),
    held: formatAmount(wallet.held),
    available: formatAmount(wallet.available),
    spent_today: formatAmount(wallet.spentToday),
    spent_month: formatAmount(wallet.spentMonth),
    caps: {
      daily: formatOptionalAmount(account.caps.dailyNanos),
      monthly: formatOptionalAmount(account.caps.monthlyNanos),
    },
    low_balance: formatOptionalAmount(account.lowBalanceNanos),
    limits: serializeLimits(account.limits),
    timezone: account.timezone,
    price_factor: account.priceFactorPpm === null ? null : formatFactor(account.priceFactorPpm),
    trial: account.trial,
    created_at: formatTime(account.createdAt),
    updated_at: formatTime(account.updatedAt),
  }
}

function toAccountPatch(body: z.infer<typeof accountPatch>): AccountPatch {
  const { caps, limits, price_factor: priceFactor, low_balance: lowBalance, ...rest } = body
  const { daily, monthly } = caps === null ? { daily: null, monthly: null } : (caps ?? {})
  return {
    ...rest,
    caps: {
      dailyNanos: parseOptionalAmount(daily, 'caps.daily'),
      monthlyNanos: parseOptionalAmount(monthly, 'caps.monthly'),
    },
    lowBalanceNanos: parseOptionalAmount(lowBalance, 'low_balance'),
    limits: toLimitsPatch(limits),
    priceFactorPpm: typeof priceFactor === 'string' ? parseFactor(priceFactor, 'price_factor') : priceFactor,
  }
}

const create = createRoute({
  method: 'post',
  path: '/accounts',
  summary: 'Create an account',
  request: { body: jsonBody(accountInput) },
  responses: createdResponse(newAccountSchema, 'The account.'),
})
const list = createRoute({
  method: 'get',
  path: '/accounts',
  summary: 'List accounts, newest first, or search them by e-mail address, name or id',
  request: {
    query: z.strictObject({
      ...pageFields,
      q: z
        .string()
        .trim()
        .max(300)
        .optional()
        .meta({ description: 'Part of an e-mail address or a name, or an id.' }),
      email: z.string().optional().meta({ description: 'The exact e-mail address.' }),
      status: status.optional(),
    }),
  },
  responses: listResponse(accountSchema, 'A page of accounts.'),
})
const read = createRoute({
  method: 'get',
  path: '/accounts/{id}',
  summary: 'Get an account with its balance',
  request: { params: idParams },
  responses: okResponse(accountSchema, 'The account.'),
})
const update = createRoute({
  method: 'patch',
  path: '/accounts/{id}',
  summary: 'Update an account; null removes a cap or a limit, or all of them',
  request: { params: idParams, body: jsonBody(accountPatch) },
  responses: okResponse(accountSchema, 'The updated account.'),
})

function serializeTrialCredit(trial: TrialCreditResult): z.infer<typeof trialCreditSchema> {
  if (!trial.granted) {
    return { granted: false, amount: null, promotion: null, expires_at: null, reason: trial.reason }
  }
  return {
    granted: true,
    amount: formatAmount(trial.amountNanos),
    promotion: trial.promotion.id,
    expires_at: formatTime(trial.expiresAt),
    reason: null,
  }
}

/** Throws 404 if there is none. */
export async function requireAccount(db: Db, id: string): Promise<Account> {
  const account = await accountById(db, id)
  if (account === undefined) throw apiError('not_found', { message: 'Account not found.' })
  return account
}

export function accountRoutes(admin: AdminContext): OpenAPIHono {
  const { ctx, by } = admin
  const { db } = ctx
  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const body = { timezone: ctx.config.timezone, ...c.req.valid('json') }
    const { account, trial } = await createAccountWithTrial(ctx, body, by)
    await ctx.publishChanges(account.changes)
    const view = await serializeAccount(admin, account.value)
    return c.json(trial === null ? view : { ...view, trial_credit: serializeTrialCredit(trial) }, 201)
  })
  app.openapi(list, async (c) => {
    const { limit, cursor, q, email, status: statusFilter } = c.req.valid('query')
    if (email !== undefined) {
      const match = await accountByEmail(db, email)
      const isMatch = match !== undefined && (statusFilter === undefined || match.status === statusFilter)
      return c.json({ data: isMatch ? [await serializeAccount(admin, match)] : [], next: null }, 200)
    }
    const page = {
      limit,
      search: q,
      status: statusFilter,
      cursor: decodeCursor(cursor, /^acc_[0-9a-z]{26}$/),
    }
    const { data, next } = await listAccounts(db, page)
    const views = await Promise.all(data.map((account) => serializeAccount(admin, account)))
    return c.json({ data: views, next: encodeCursor(next) }, 200)
  })
  app.openapi(read, async (c) =>
    c.json(await serializeAccount(admin, await requireAccount(db, c.req.valid('param').id)), 200),
  )
  app.openapi(update, async (c) => {
    const patch = toAccountPatch(c.req.valid('json'))
    const account = await writeAndPublish(admin, updateAccount(db, c.req.valid('param').id, patch, by))
    return c.json(await serializeAccount(admin, account), 200)
  })
  return app
}
