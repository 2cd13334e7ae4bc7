/** `/accounts`: who holds money, and what they have. */
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
import { refuse } from '../../../errors.ts'
import { decimalOf, factorOf, factorPpmOf } from '../../../lib/money.ts'
import { currency } from '../../../usage/request-records.ts'
import { openAccount, type TrialOutcome } from '../../trial.ts'
import { announced, type Desk } from '../desk.ts'
import {
  bodyOf,
  capOf,
  capsIn,
  capsOut,
  capText,
  createdAnswer,
  idPath,
  limitsIn,
  limitsOut,
  limitsPatch,
  limitsView,
  listAnswer,
  money,
  okAnswer,
  openedCursor,
  pageFields,
  sealedCursor,
  time,
  timeOf,
} from '../schemas.ts'

const status = z.enum(['active', 'suspended'])
const factor = z.string().max(64)

const accountIn = z.strictObject({
  email: z.string(),
  name: z.string().optional(),
  tier: z.string().optional(),
  timezone: z.string().optional().meta({ description: 'IANA; decides when a day and a month end.' }),
  trial: z.boolean().optional().meta({ description: 'With the credit of a promotion, if one runs.' }),
  promotion: z.string().optional().meta({ description: 'The code of one that is not for everybody.' }),
})
const accountPatch = z.strictObject({
  email: z.string().optional(),
  name: z.string().optional(),
  tier: z.string().optional(),
  status: status.optional(),
  caps: capsIn.nullish(),
  low_balance: money.nullish().meta({
    description: 'A balance below it is told; null: a tenth of the last credit, "0": never.',
  }),
  limits: limitsIn.nullish(),
  timezone: z.string().optional(),
  price_factor: factor.nullish().meta({ description: 'null is the tier’s.' }),
})
export const accountOut = z
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
    caps: capsOut,
    low_balance: money.nullable(),
    limits: limitsOut.meta({ description: 'Its own; null is the tier’s.' }),
    timezone: z.string(),
    price_factor: factor.nullable(),
    trial: z.boolean(),
    created_at: time,
    updated_at: time,
  })
  .openapi('Account')
const trialOut = z.object({
  granted: z.boolean(),
  amount: money.nullable(),
  promotion: z.string().nullable().meta({ description: 'Its id.' }),
  expires_at: time.nullable().meta({ description: 'What is left then is taken back.' }),
  reason: z.enum(['no_promotion', 'granted_before']).nullable().meta({
    description: 'Why nothing is granted: no promotion runs, or this mailbox has had its credit.',
  }),
})
const newAccountOut = accountOut
  .extend({ trial_credit: trialOut.optional().meta({ description: 'Where `trial` was asked for.' }) })
  .openapi('NewAccount')

async function accountView({ house }: Desk, account: Account): Promise<z.infer<typeof accountOut>> {
  const wallet = await house.wallet(account.id, null)
  return {
    id: account.id,
    email: account.email,
    name: account.name,
    tier: account.tier,
    status: account.status,
    currency,
    balance: decimalOf(wallet.balance),
    held: decimalOf(wallet.held),
    available: decimalOf(wallet.available),
    spent_today: decimalOf(wallet.spentToday),
    spent_month: decimalOf(wallet.spentMonth),
    caps: { daily: capText(account.caps.dailyNanos), monthly: capText(account.caps.monthlyNanos) },
    low_balance: capText(account.lowBalanceNanos),
    limits: limitsView(account.limits),
    timezone: account.timezone,
    price_factor: account.priceFactorPpm === null ? null : factorOf(account.priceFactorPpm),
    trial: account.trial,
    created_at: timeOf(account.createdAt),
    updated_at: timeOf(account.updatedAt),
  }
}

function patchOf(given: z.infer<typeof accountPatch>): AccountPatch {
  const { caps, limits, price_factor: ownFactor, low_balance: low, ...rest } = given
  const { daily, monthly } = caps === null ? { daily: null, monthly: null } : (caps ?? {})
  return {
    ...rest,
    caps: { dailyNanos: capOf(daily, 'caps.daily'), monthlyNanos: capOf(monthly, 'caps.monthly') },
    lowBalanceNanos: capOf(low, 'low_balance'),
    limits: limitsPatch(limits),
    priceFactorPpm: typeof ownFactor === 'string' ? factorPpmOf(ownFactor, 'price_factor') : ownFactor,
  }
}

const create = createRoute({
  method: 'post',
  path: '/accounts',
  summary: 'Open an account',
  request: { body: bodyOf(accountIn) },
  responses: createdAnswer(newAccountOut, 'The account.'),
})
const list = createRoute({
  method: 'get',
  path: '/accounts',
  summary: 'List accounts, newest first, or find one by its e-mail address',
  request: {
    query: z.strictObject({ ...pageFields, email: z.string().optional(), status: status.optional() }),
  },
  responses: listAnswer(accountOut, 'A page of accounts.'),
})
const read = createRoute({
  method: 'get',
  path: '/accounts/{id}',
  summary: 'Read an account and what it has',
  request: { params: idPath },
  responses: okAnswer(accountOut, 'The account.'),
})
const update = createRoute({
  method: 'patch',
  path: '/accounts/{id}',
  summary: 'Change the fields given; null removes a cap or a limit, or all of them',
  request: { params: idPath, body: bodyOf(accountPatch) },
  responses: okAnswer(accountOut, 'The account as it is now.'),
})

function trialView(trial: TrialOutcome): z.infer<typeof trialOut> {
  if (!trial.granted) {
    return { granted: false, amount: null, promotion: null, expires_at: null, reason: trial.reason }
  }
  return {
    granted: true,
    amount: decimalOf(trial.amountNanos),
    promotion: trial.promotion.id,
    expires_at: timeOf(trial.expiresAt),
    reason: null,
  }
}

/** Refuses with 404. */
export async function knownAccount(db: Db, id: string): Promise<Account> {
  const account = await accountById(db, id)
  if (account === undefined) throw refuse('not_found', { message: 'There is no such account.' })
  return account
}

export function accountRoutes(desk: Desk): OpenAPIHono {
  const { house, by } = desk
  const { db } = house
  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const given = { timezone: house.config.timezone, ...c.req.valid('json') }
    const { account, trial } = await openAccount(house, given, by)
    await house.announce(account.changes)
    const view = await accountView(desk, account.value)
    return c.json(trial === null ? view : { ...view, trial_credit: trialView(trial) }, 201)
  })
  app.openapi(list, async (c) => {
    const { limit, cursor, email, status: wanted } = c.req.valid('query')
    if (email !== undefined) {
      const found = await accountByEmail(db, email)
      const isShown = found !== undefined && (wanted === undefined || found.status === wanted)
      return c.json({ data: isShown ? [await accountView(desk, found)] : [], next: null }, 200)
    }
    const page = { limit, status: wanted, cursor: openedCursor(cursor, /^acc_[0-9a-z]{26}$/) }
    const { data, next } = await listAccounts(db, page)
    const views = await Promise.all(data.map((account) => accountView(desk, account)))
    return c.json({ data: views, next: sealedCursor(next) }, 200)
  })
  app.openapi(read, async (c) =>
    c.json(await accountView(desk, await knownAccount(db, c.req.valid('param').id)), 200),
  )
  app.openapi(update, async (c) => {
    const patch = patchOf(c.req.valid('json'))
    const account = await announced(desk, updateAccount(db, c.req.valid('param').id, patch, by))
    return c.json(await accountView(desk, account), 200)
  })
  return app
}
