/** Trial credits that were given for a time: told before their end, and taken back at it as far as they are unspent. */
import { endingTrials, noteTaken, trialCreditId, type TrialGrant } from '../../ledger/credits/trial-grants.ts'
import { decimalOf } from '../../lib/money.ts'
import { noticeRow, raiseNotice, type NoticeInput } from '../../notifications/notifications.ts'
import { currency } from '../../usage/request-records.ts'
import type { Core } from '../core.ts'

/** So long before its end people are told that something of it is left. */
const toldBeforeMs = 3 * 86_400_000
const perRound = 500

/** Ends what is over, and tells of what soon will be; what open requests hold waits for the next round. */
export async function tendTrials(core: Core, at: number): Promise<void> {
  const { db } = core.store
  for (const grant of await endingTrials(db, { from: 0, to: at }, perRound)) await endTrial(core, grant, at)
  const soon = await endingTrials(db, { from: at, to: at + toldBeforeMs }, perRound)
  await raiseNotice(db, ...soon.flatMap((grant) => endingNotice(core, grant) ?? []))
}

async function endTrial(core: Core, first: TrialGrant, at: number): Promise<void> {
  let grant = first
  for (;;) {
    const { taken, isDone } = await core.credits.endTrial({
      id: `${trialCreditId(grant.account)}:end:${grant.takes + 1}`,
      account: grant.account,
      amount: grant.amountNanos - grant.takenNanos,
      spentBefore: grant.spentBeforeNanos,
      reason: 'The trial credit has ended',
    })
    if (taken === 0n && !isDone) return
    const takenNanos = grant.takenNanos + taken
    const also = isDone && takenNanos > 0n ? [noticeRow(endedNotice(grant.account, takenNanos))] : []
    await noteTaken(core.store.db, grant, { nanos: taken, isDone, at }, also)
    if (isDone) return
    grant = { ...grant, takenNanos, takes: grant.takes + 1 }
  }
}

function endedNotice(account: string, takenNanos: bigint): NoticeInput {
  const params = { taken: decimalOf(takenNanos), currency }
  return { ...aboutTrial(account), severity: 'info', period: 'ended', code: 'trial_ended', params }
}

function endingNotice({ directory }: Core, grant: TrialGrant): NoticeInput | undefined {
  const { account, expiresAt } = grant
  const left = grant.amountNanos - (grant.spentNanos - grant.spentBeforeNanos)
  if (left <= 0n || expiresAt === null) return undefined
  const params = {
    left: decimalOf(left),
    currency,
    ends_at: new Date(expiresAt).toISOString(),
    timezone: directory.account(account)?.timezone ?? 'UTC',
  }
  return { ...aboutTrial(account), severity: 'info', period: 'ending', code: 'trial_ending', params }
}

function aboutTrial(account: string): Pick<NoticeInput, 'audience' | 'kind' | 'subject'> {
  return { audience: account, kind: 'balance', subject: 'trial' }
}
