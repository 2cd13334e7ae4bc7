/** `/accounts`: accounts with their balances, caps and limits. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { readWallet } from '../../api/wallet.ts'
import { limitColumns } from '../../csv-export.ts'
import { view } from '../../api/define-endpoints.ts'
import { admin } from '../admin-context.ts'
import type { AppContext } from '../../app-context.ts'
import {
  accountByEmail,
  accountById,
  listAccounts,
  updateAccount,
  type Account,
  type AccountPatch,
} from '../../../accounts/accounts.ts'
import type { Db } from '../../../db/db.ts'
import { receivableOf } from '../../../payments/payment-refunds.ts'
import { notFound } from '../../../errors.ts'
import { formatAmount, parseFactor } from '../../../lib/money.ts'
import { createAccountWithTrial } from '../../api/trial-credit.ts'
import type { TrialCreditResult } from '../../../ledger/credits/grant-trial-credit.ts'
import { capsInput, capsSchema, limitsInput, limitsSchema, toLimitsPatch, money, time } from '../schemas.ts'
import { parseOptionalAmount, serializeLimits, formatTime } from '../../api/json-values.ts'

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
    receivable: money.meta({
      description: 'What disputes of payments took beyond the balance: the account owes it.',
    }),
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

async function serializeAccount(account: Account, ctx: AppContext): Promise<z.infer<typeof accountSchema>> {
  return {
    ...jsonFields(account),
    ...(await readWallet(account, ctx)),
    limits: serializeLimits(account.limits),
  }
}

const accountView = view('account', accountSchema, serializeAccount)

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
  if (account === undefined) throw notFound('Account')
  return account
}

export const accountEndpoints = [
  admin.create('/accounts', {
    summary: 'Create an account',
    body: accountInput,
    response: newAccountSchema,
    returns: 'The account.',
    async handle({ ctx, by, body }) {
      const input = { timezone: ctx.config.timezone, ...body }
      const { account, trial } = await createAccountWithTrial(ctx, input, by)
      await ctx.publishChanges(account.changes)
      const json = await serializeAccount(account.value, ctx)
      return trial === null ? json : { ...json, trial_credit: serializeTrialCredit(trial) }
    },
  }),
  admin.page('/accounts', {
    summary: 'List accounts, newest first, or search them by e-mail address, name or id',
    item: accountView,
    filters: {
      q: z
        .string()
        .trim()
        .max(300)
        .optional()
        .meta({ description: 'Part of an e-mail address or a name, or an id.' }),
      email: z.string().optional().meta({ description: 'The exact e-mail address.' }),
      status: status.optional(),
      receivable: z.enum(['true', 'false']).optional().meta({ description: 'Whether the account owes any.' }),
    },
    cursor: /^acc_[0-9a-z]{26}$/,
    csv: [
      'id',
      'email',
      'name',
      'tier',
      'status',
      'balance',
      'held',
      'available',
      'spent_today',
      'spent_month',
      'caps.daily',
      'caps.monthly',
      'low_balance',
      'receivable',
      'currency',
      ...limitColumns,
      'timezone',
      'price_factor',
      'trial',
      'created_at',
      'updated_at',
    ],
    async handle({ ctx: { db }, query: { q, email, status: statusFilter, receivable }, page }) {
      const hasReceivable = receivable === undefined ? undefined : receivable === 'true'
      if (email === undefined)
        return listAccounts(db, { ...page, search: q, status: statusFilter, hasReceivable })
      const match = await accountByEmail(db, email)
      const isMatch =
        match !== undefined &&
        (statusFilter === undefined || match.status === statusFilter) &&
        (hasReceivable === undefined || (await receivableOf(db, match.id)) > 0n === hasReceivable)
      return { data: isMatch ? [match] : [], next: null }
    },
  }),
  admin.get('/accounts/{id}', {
    summary: 'Get an account with its balance',
    response: accountView,
    handle: ({ ctx, params }) => accountById(ctx.db, params.id),
  }),
  admin.patch('/accounts/{id}', {
    summary: 'Update an account; null removes a cap or a limit, or all of them',
    body: accountPatch,
    response: accountView,
    handle: ({ ctx, by, params, body, publish }) =>
      publish(updateAccount(ctx.db, params.id, toAccountPatch(body), by)),
  }),
]
