/** Voucher codes: created here, shown once, redeemed by customers. */
import { Button, TextInput } from '@mantine/core'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { mutateAdmin } from '../../../api/admin-queries.ts'
import type { NewVouchers, Voucher } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { useAction, useFieldError } from '../../../components/forms/use-action.ts'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { ConfirmIdentity } from '../../../components/forms/confirm-identity.tsx'
import { AmountField, Form, useDraft, IntegerField } from '../../../components/forms/fields.tsx'
import { endOfDay, isDecimal, isInteger, optionalInteger } from '../../../components/forms/field-values.ts'
import { Icon } from '../../../components/layout/icon.tsx'
import { PagedList } from '../../../components/feedback/query-boundary.tsx'
import { OneTimeSecret } from '../../../components/feedback/one-time-secret.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import {
  Money,
  ShortId,
  StatusLabel,
  RelativeTime,
  useCurrency,
} from '../../../components/tables/format-cells.tsx'
import { ExpiryDate } from '../../../components/tables/time-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'

const route = getRouteApi('/shell/operator/vouchers')

export function Vouchers() {
  const t = useMessages('catalog').vouchers
  const navigate = route.useNavigate()
  const { add } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const addButton = (
    <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
      {t.add}
    </Button>
  )
  return (
    <Page title={t.title} lead={t.lead} csv={{ path: '/admin/vouchers' }} actions={addButton}>
      <PagedList<Voucher>
        queryKey={['admin', 'vouchers']}
        path="/admin/vouchers"
        empty={
          <EmptyState title={t.none}>
            <p>{t.noneLead}</p>
            {addButton}
          </EmptyState>
        }
      >
        {(vouchers) => <VoucherTable vouchers={vouchers} />}
      </PagedList>
      <Dialog title={t.add} opened={add !== undefined} close={close}>
        <VoucherForm close={close} />
      </Dialog>
    </Page>
  )
}

function VoucherTable({ vouchers }: { readonly vouchers: readonly Voucher[] }) {
  const t = useMessages('catalog').vouchers
  const state = ({ redeemed_at: redeemed, expires_at: expires }: Voucher) => {
    if (redeemed !== null) return <StatusLabel tone="neutral">{t.redeemed}</StatusLabel>
    const isOver = expires !== null && Date.parse(expires) < Date.now()
    return isOver ? (
      <StatusLabel tone="warning">{t.expired}</StatusLabel>
    ) : (
      <StatusLabel tone="success">{t.open}</StatusLabel>
    )
  }
  return (
    <Table
      label={t.title}
      rows={vouchers}
      rowId={({ id }) => id}
      columns={[
        { header: t.id, primary: true, cell: ({ id }) => <ShortId id={id} /> },
        { header: t.amount, numeric: true, cell: ({ amount }) => <Money amount={amount} /> },
        { header: t.state, cell: state },
        { header: t.createdAt, cell: (voucher) => <RelativeTime at={voucher.created_at} /> },
        { header: t.until, cell: (voucher) => <ExpiryDate at={voucher.expires_at} /> },
        {
          header: t.redeemedBy,
          cell: ({ redeemed_by: account, redeemed_at: at }) =>
            account === null ? (
              '–'
            ) : (
              <>
                <Link to="/operator/accounts/$id" params={{ id: account }}>
                  {t.account}
                </Link>{' '}
                <RelativeTime at={at} />
              </>
            ),
        },
      ]}
    />
  )
}

function VoucherForm({ close }: { readonly close: () => void }) {
  const t = useMessages('catalog').vouchers
  const [created, setCreated] = useState<NewVouchers | null>(null)
  const currency = useCurrency()
  const { draft, field } = useDraft({ amount: '', count: '1', expires: '' })
  const create = useAction(async () => {
    const body = {
      amount: draft.amount.trim(),
      count: optionalInteger(draft.count),
      expires_at: endOfDay(draft.expires),
    }
    setCreated(await mutateAdmin<NewVouchers>('POST', '/vouchers', body))
  })
  const fieldError = useFieldError(create.error)
  if (create.error?.code === 'password_required')
    return <ConfirmIdentity onConfirmed={() => void create.run()} cancel={create.reset} />
  if (created !== null) {
    return <OneTimeSecret secret={created.codes} close={close} />
  }
  const isReady = isDecimal(draft.amount) && isInteger(draft.count)
  return (
    <Form
      action={create}
      submitLabel={t.create}
      cancel={close}
      inlineErrors={['amount', 'count', 'expires_at']}
      isIncomplete={!isReady}
    >
      <div className="fields">
        <AmountField
          label={t.amountEach(currency)}
          required
          error={fieldError('amount')}
          {...field('amount')}
        />
        <IntegerField label={t.count} required error={fieldError('count')} {...field('count')} />
        <TextInput
          label={t.until}
          description={t.untilHint}
          type="date"
          error={fieldError('expires_at')}
          {...field('expires')}
        />
      </div>
      {isReady && (
        <p>
          {t.total} <Money amount={String(Number(draft.amount) * Number(draft.count))} />
        </p>
      )}
    </Form>
  )
}
