/** An account's billing: wallet, ledger entries, vouchers, caps. */
import { updateAccount } from '../../../accounts/accounts.ts'
import { formatAmount } from '../../../lib/money.ts'
import { listCredits, listMovements, type Credit } from '../../../usage/statement.ts'
import { decodeCursor, encodeCursor, parseOptionalAmount, formatTime } from '../../api/json-values.ts'
import { readWallet } from '../../api/wallet.ts'
import { writeAndPublish } from '../../api/publish.ts'
import { billingContract, type Entry } from '../contract/billing.ts'
import { statementEndpoints } from './statements.ts'
import { endpoint, type Endpoint, type ConsoleContext } from '../context.ts'

function serializeEntry(entry: Credit, balanceNanos: bigint | null): Entry {
  const isCharge = entry.kind === 'charge'
  return {
    id: String(entry.id),
    time: formatTime(entry.at),
    kind: isCharge ? 'charge' : 'credit',
    amount: formatAmount(entry.amountNanos),
    balance: balanceNanos === null ? null : formatAmount(balanceNanos),
    source: entry.source,
    reason: entry.reason,
    request_id: isCharge ? entry.reference : null,
  }
}

async function listEntries({ ctx, accountId, query }: ConsoleContext<typeof billingContract.entries>) {
  const { limit, cursor, kind } = query
  const page = { limit, cursor: decodeCursor(cursor, kind === 'credit' ? /^\d+$/ : /^\d+\.-?\d+$/) }
  if (kind === 'credit') {
    const { data, next } = await listCredits(ctx.db, accountId, page)
    return { data: data.map((entry) => serializeEntry(entry, null)), next: encodeCursor(next) }
  }
  const { data, next } = await listMovements(ctx.db, accountId, page)
  return { data: data.map((entry) => serializeEntry(entry, entry.balanceNanos)), next: encodeCursor(next) }
}

async function setCaps(context: ConsoleContext<typeof billingContract.setCaps>) {
  const { ctx, accountId, by, body } = context
  const caps = {
    dailyNanos: parseOptionalAmount(body.daily, 'daily'),
    monthlyNanos: parseOptionalAmount(body.monthly, 'monthly'),
  }
  await writeAndPublish({ ctx }, updateAccount(ctx.db, accountId, { caps }, by))
  return readWallet(context.account, ctx)
}

async function redeemVoucher({ ctx, accountId, by, body }: ConsoleContext<typeof billingContract.redeem>) {
  const { voucher, balance } = await ctx.redeemVoucher(accountId, body.code, by)
  return { amount: formatAmount(voucher.amountNanos), balance: formatAmount(balance) }
}

export const billingEndpoints: readonly Endpoint[] = [
  endpoint(billingContract.wallet, ({ account, ctx }) => readWallet(account, ctx)),
  endpoint(billingContract.entries, listEntries),
  endpoint(billingContract.setCaps, setCaps),
  endpoint(billingContract.redeem, redeemVoucher),
  ...statementEndpoints,
]
