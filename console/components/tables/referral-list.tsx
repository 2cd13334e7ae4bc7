/** Referrals: what the customer earns by inviting, on the page of billing, and those of all accounts for operators. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { get } from '../../api/client.ts'
import type { InvitedAccount, Referral, ReferralSummary } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { PagedList } from '../feedback/query-boundary.tsx'
import { Dialog } from '../forms/dialog.tsx'
import { RefuseForm } from '../forms/payment-forms.tsx'
import { formatMoney, formatNumber } from '../format.ts'
import { DescriptionList, Section } from '../layout/page.tsx'
import { CopyButton, Money, ShortId, StatusLabel, useCurrency, type Tone } from './format-cells.tsx'
import { RowMenu } from './row-menu.tsx'
import { Table } from './table.tsx'
import { LogTime } from './time-cells.tsx'

const tones: Readonly<Record<Referral['state'], Tone>> = {
  waiting: 'neutral',
  pending: 'info',
  rewarded: 'success',
  refused: 'neutral',
  taken_back: 'warning',
}

const summaryQuery = queryOptions({
  queryKey: ['account', 'referral'],
  queryFn: () => get<ReferralSummary>('/console/referral'),
})

/** Nothing unless the account can invite, or has invited. */
export function OwnReferrals() {
  const t = useMessages('payments').referral
  const { data } = useQuery(summaryQuery)
  if (data === undefined || (data.offer === null && data.invited === 0)) return null
  const { offer, invited, earned, pending } = data
  return (
    <Section title={t.title} lead={offer === null ? undefined : <OfferTerms offer={offer} />}>
      <DescriptionList
        items={[
          ...(offer === null
            ? []
            : ([
                [t.link, <CopyButton key="link" text={offer.link} />],
                [t.code, <CopyButton key="code" text={offer.code} />],
              ] as const)),
          [t.invitedAccounts, formatNumber(invited)],
          [t.earned, <Money key="earned" amount={earned} />],
          [t.clearing, <Money key="clearing" amount={pending} />],
        ]}
      />
      {invited > 0 && <InvitedList />}
    </Section>
  )
}

type Offer = NonNullable<ReferralSummary['offer']>

function OfferTerms({ offer }: { readonly offer: Offer }) {
  const t = useMessages('payments').referral
  const currency = useCurrency()
  const money = (amount: string): string => formatMoney(amount, currency)
  const textOf = (reward: Offer['referrer_reward']): string | null => {
    if (reward === null) return null
    const { fixed, percent = '', max } = reward
    return fixed === undefined ? t.percentOf(percent, max === undefined ? null : money(max)) : money(fixed)
  }
  const [yours, theirs] = [textOf(offer.referrer_reward), textOf(offer.invited_reward)]
  const rewards = [yours && t.yours(yours), theirs && t.theirs(theirs)].filter((part) => part !== null)
  const most = yours === null ? '' : t.most(money(offer.max_month))
  return t.terms(rewards.join(t.and), money(offer.min_payment), offer.clear_after_days, most)
}

function InvitedList() {
  const t = useMessages('payments')
  return (
    <PagedList<InvitedAccount>
      queryKey={['account', 'invited']}
      path="/console/referral/invited"
      limit={10}
      empty={null}
    >
      {(invited) => (
        <Table
          label={t.referral.invitedAccounts}
          rows={invited}
          rowId={({ id }) => id}
          columns={[
            { header: t.referral.signedUp, primary: true, cell: ({ created_at: at }) => <LogTime at={at} /> },
            { header: t.state, cell: (each) => <ReferralState {...each} /> },
            { header: t.referral.reward, numeric: true, cell: ({ reward }) => <Money amount={reward} /> },
          ]}
        />
      )}
    </PagedList>
  )
}

function ReferralState({ state }: Pick<Referral, 'state'>) {
  const t = useMessages('payments').referral
  return <StatusLabel tone={tones[state]}>{t.states[state]}</StatusLabel>
}

export function ReferralTable() {
  const t = useMessages('payments')
  const [refusing, setRefusing] = useState<string | null>(null)
  const close = (): void => setRefusing(null)
  const reasons: Readonly<Record<string, string>> = t.referral.reasons
  return (
    <>
      <PagedList<Referral>
        queryKey={['admin', 'referrals']}
        path="/admin/referrals"
        limit={20}
        empty={<p className="muted">{t.referral.none}</p>}
      >
        {(referrals) => (
          <Table
            label={t.referral.title}
            rows={referrals}
            rowId={({ id }) => id}
            columns={[
              { header: t.time, cell: ({ created_at: at }) => <LogTime at={at} /> },
              {
                header: t.referral.referrer,
                primary: true,
                cell: ({ referrer }) => <ShortId id={referrer} />,
              },
              { header: t.referral.invited, cell: ({ invited }) => <ShortId id={invited} /> },
              {
                header: t.referral.referrerReward,
                numeric: true,
                cell: (each) => <Money amount={each.referrer_reward} />,
              },
              {
                header: t.referral.invitedReward,
                numeric: true,
                cell: (each) => <Money amount={each.invited_reward} />,
              },
              {
                header: t.state,
                cell: ({ state, reason }) => (
                  <>
                    <ReferralState state={state} />
                    {reason !== null && <small>{reasons[reason] ?? reason}</small>}
                  </>
                ),
              },
              {
                header: t.operator.action,
                isMenu: true,
                cell: ({ id, state }) =>
                  ['waiting', 'pending'].includes(state) && (
                    <RowMenu
                      name={id}
                      actions={[
                        {
                          label: t.operator.refuse,
                          onClick: () => setRefusing(id),
                          isDestructive: true,
                        },
                      ]}
                    />
                  ),
              },
            ]}
          />
        )}
      </PagedList>
      <Dialog title={t.referral.refuse} opened={refusing !== null} close={close}>
        <RefuseForm path={`/referrals/${refusing ?? ''}`} message={t.referral.refused} close={close} />
      </Dialog>
    </>
  )
}
