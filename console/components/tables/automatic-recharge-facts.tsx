/** The state of an automatic recharge, for its customer and for operators. */
import type { ReactNode } from 'react'
import type { AutomaticRecharge } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { formatMoney } from '../format.ts'
import { DescriptionList } from '../layout/page.tsx'
import { Money, StatusLabel, type Tone } from './format-cells.tsx'
import { LogTime } from './time-cells.tsx'

type Fact = readonly [string, ReactNode]

const tones: Readonly<Record<AutomaticRecharge['state'], Tone>> = {
  on: 'success',
  paused: 'warning',
  off: 'neutral',
}

export function AutomaticRechargeFacts({ recharge }: { readonly recharge: AutomaticRecharge }) {
  const t = useMessages('payments').automatic
  const { state, threshold, amount, monthly_limit: limit, used_this_month: used, card, consent } = recharge
  const { problem, next_attempt_at: nextAttemptAt } = recharge
  const money = (value: string): string => formatMoney(value, recharge.currency ?? '')
  const isWaiting = state === 'off' && consent !== null
  const facts: (Fact | null)[] = [
    [
      t.state,
      <StatusLabel key="state" tone={isWaiting ? 'warning' : tones[state]}>
        {isWaiting ? t.waitsForCard : t.states[state]}
      </StatusLabel>,
    ],
    threshold === null ? null : [t.threshold, <Money key="threshold" amount={threshold} />],
    amount === null ? null : [t.amount, money(amount)],
    limit === null || used === null ? null : [t.usedThisMonth, t.usedOf(money(used), money(limit))],
    card === null ? null : [t.card, t.cardEnding(card.last_four)],
    recharge.order === null ? null : [t.inFlight, t.inFlightNote],
    nextAttemptAt === null ? null : [t.nextAttempt, <LogTime key="next" at={nextAttemptAt} />],
    problem === null ? null : [t.lastFailure, t.problems[problem] ?? t.otherProblem(problem)],
    consent === null ? null : [t.consent, <LogTime key="consent" at={consent.at} />],
  ]
  return <DescriptionList items={facts.filter((fact) => fact !== null)} />
}
