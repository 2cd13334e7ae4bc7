/** Trial credits with an expiry: notifies users before it, and takes back the unspent remainder. */
import {
  expiringTrials,
  recordTrialTakeBack,
  trialCreditId,
  type TrialGrant,
} from '../ledger/credits/trial-grants.ts'
import { formatAmount } from '../lib/money.ts'
import {
  insertNotification,
  raiseNotification,
  type NotificationInput,
} from '../notifications/notifications.ts'
import type { Core } from './core.ts'

/** How long before the expiry users are notified of a remainder. */
const notifyBeforeMs = 3 * 86_400_000
const grantsPerBatch = 500

/** Ends expired trials, and notifies of those that expire soon. Amounts that open requests hold wait for the next run. */
export async function expireTrialCredits(core: Core, at: number): Promise<void> {
  const { db } = core.store
  for (const grant of await expiringTrials(db, { from: 0, to: at }, grantsPerBatch))
    await endTrial(core, grant, at)
  const soon = await expiringTrials(db, { from: at, to: at + notifyBeforeMs }, grantsPerBatch)
  await raiseNotification(db, ...soon.flatMap((grant) => endingNotification(core, grant) ?? []))
}

async function endTrial(core: Core, first: TrialGrant, at: number): Promise<void> {
  let grant = first
  for (;;) {
    const { taken, isDone } = await core.credits.endTrial({
      id: `${trialCreditId(grant.accountId)}:end:${grant.takes + 1}`,
      account: grant.accountId,
      amount: grant.amountNanos - grant.takenNanos,
      spentBefore: grant.spentBeforeNanos,
      reason: 'The trial credit has ended',
    })
    if (taken === 0n && !isDone) return
    const takenNanos = grant.takenNanos + taken
    const notifications =
      isDone && takenNanos > 0n
        ? [insertNotification(endedNotification(core, grant.accountId, takenNanos))]
        : []
    await recordTrialTakeBack(core.store.db, grant, { nanos: taken, isDone, at }, notifications)
    if (isDone) return
    grant = { ...grant, takenNanos, takes: grant.takes + 1 }
  }
}

function endedNotification({ currency }: Core, account: string, takenNanos: bigint): NotificationInput {
  const params = { taken: formatAmount(takenNanos), currency }
  return { ...trialNotificationBase(account), severity: 'info', period: 'ended', code: 'trial_ended', params }
}

function endingNotification({ directory, currency }: Core, grant: TrialGrant): NotificationInput | undefined {
  const { accountId: account, expiresAt } = grant
  const left = grant.amountNanos - ((grant.totalSpentNanos ?? 0n) - grant.spentBeforeNanos)
  if (left <= 0n || expiresAt === null) return undefined
  const params = {
    left: formatAmount(left),
    currency,
    ends_at: new Date(expiresAt).toISOString(),
    timezone: directory.account(account)?.timezone ?? 'UTC',
  }
  return {
    ...trialNotificationBase(account),
    severity: 'info',
    period: 'ending',
    code: 'trial_ending',
    params,
  }
}

function trialNotificationBase(account: string): Pick<NotificationInput, 'audience' | 'kind' | 'subject'> {
  return { audience: account, kind: 'balance', subject: 'trial' }
}
