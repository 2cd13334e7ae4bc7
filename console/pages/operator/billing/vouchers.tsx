/** Codes that are worth money: made here, shown once, redeemed by customers. */
import { Button, TextInput } from '@mantine/core'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { change } from '../../../api/admin-queries.ts'
import type { NewVouchers, Voucher } from '../../../contract.ts'
import { useWords } from '../../../language.ts'
import { useAction, useFieldError } from '../../../components/forms/use-action.ts'
import {
  AmountField,
  Dialog,
  Form,
  isDecimal,
  isWhole,
  useDraft,
  WholeField,
} from '../../../components/forms/fields.tsx'
import { Icon } from '../../../components/layout/icon.tsx'
import { Paged } from '../../../components/feedback/query-boundary.tsx'
import { Nothing } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { Copyable, Money, ShortId, State, When } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/vouchers')

export function Vouchers() {
  const words = useWords('offer').vouchers
  const navigate = route.useNavigate()
  const { add } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const addButton = (
    <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
      {words.add}
    </Button>
  )
  return (
    <Page title={words.title} lead={words.lead} actions={addButton}>
      <Paged<Voucher>
        name={['admin', 'vouchers']}
        path="/admin/vouchers"
        empty={
          <Nothing title={words.none}>
            <p>{words.noneLead}</p>
            {addButton}
          </Nothing>
        }
      >
        {(vouchers) => <VoucherTable vouchers={vouchers} />}
      </Paged>
      <Dialog title={words.add} opened={add !== undefined} close={close}>
        <VoucherForm close={close} />
      </Dialog>
    </Page>
  )
}

function VoucherTable({ vouchers }: { readonly vouchers: readonly Voucher[] }) {
  const words = useWords('offer').vouchers
  const state = ({ redeemed_at: redeemed, expires_at: expires }: Voucher) => {
    if (redeemed !== null) return <State tone="quiet">{words.redeemed}</State>
    const isOver = expires !== null && Date.parse(expires) < Date.now()
    return isOver ? <State tone="warn">{words.expired}</State> : <State tone="good">{words.open}</State>
  }
  return (
    <Table
      label={words.title}
      rows={vouchers}
      idOf={({ id }) => id}
      columns={[
        { head: words.id, names: true, cell: ({ id }) => <ShortId id={id} /> },
        { head: words.amount, figures: true, cell: ({ amount }) => <Money amount={amount} /> },
        { head: words.state, cell: state },
        { head: words.made, cell: (voucher) => <When at={voucher.created_at} /> },
        { head: words.until, cell: (voucher) => <When at={voucher.expires_at} /> },
        {
          head: words.redeemedBy,
          cell: ({ redeemed_by: account, redeemed_at: at }) =>
            account === null ? (
              '–'
            ) : (
              <>
                <Link to="/operator/accounts/$id" params={{ id: account }}>
                  {words.account}
                </Link>{' '}
                <When at={at} />
              </>
            ),
        },
      ]}
    />
  )
}

function VoucherForm({ close }: { readonly close: () => void }) {
  const words = useWords('offer').vouchers
  const shell = useWords('shell')
  const [made, setMade] = useState<NewVouchers | null>(null)
  const { draft, field } = useDraft({ amount: '', count: '1', expires: '' })
  const create = useAction(async () => {
    const expires = draft.expires === '' ? null : new Date(`${draft.expires}T23:59:59`).toISOString()
    const body = { amount: draft.amount.trim(), count: Number(draft.count), expires_at: expires }
    setMade(await change<NewVouchers>('POST', '/vouchers', body))
  })
  const errorOf = useFieldError(create.error)
  if (made !== null) {
    return (
      <div className="stack">
        <p className="hint warn">{words.once}</p>
        <div className="secret codes">
          {made.codes.map((code) => (
            <div key={code}>{code}</div>
          ))}
        </div>
        <div className="row end">
          <Copyable text={made.codes.join('\n')}>{words.copyAll}</Copyable>
          <Button onClick={close}>{shell.close}</Button>
        </div>
      </div>
    )
  }
  const isReady = isDecimal(draft.amount) && isWhole(draft.count)
  return (
    <Form
      action={create}
      verb={words.create}
      cancel={close}
      beside={['amount', 'count', 'expires_at']}
      isIncomplete={!isReady}
    >
      <div className="fields">
        <AmountField label={words.each} required error={errorOf('amount')} {...field('amount')} />
        <WholeField label={words.count} required error={errorOf('count')} {...field('count')} />
        <TextInput
          label={words.until}
          description={words.untilHint}
          type="date"
          error={errorOf('expires_at')}
          {...field('expires')}
        />
      </div>
      {isReady && (
        <p>
          {words.worth} <Money amount={String(Number(draft.amount) * Number(draft.count))} />
        </p>
      )}
    </Form>
  )
}
