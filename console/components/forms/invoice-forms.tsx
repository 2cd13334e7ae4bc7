/** The customer's forms for invoices: a title, and a request for payments. */
import { Checkbox, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { queryOptions } from '@tanstack/react-query'
import { useState } from 'react'
import { mutateAccount } from '../../api/account-queries.ts'
import { get } from '../../api/client.ts'
import type { InvoiceablePayment, InvoiceTitle } from '../../api/contract.ts'
import { useLanguage, useMessages } from '../../locales/messages.ts'
import { QueryBoundary } from '../feedback/query-boundary.tsx'
import { showToast } from '../feedback/toast.tsx'
import { formatDateTime, formatMoney, fromNanos, toNanos } from '../format.ts'
import { Form, SelectField, useDraft } from './fields.tsx'
import { useAction, useFieldError } from './use-action.ts'

interface Closing {
  readonly close: () => void
}

export const invoiceTitlesQuery = queryOptions({
  queryKey: ['account', 'invoice-titles'],
  queryFn: () => get<{ data: InvoiceTitle[] }>('/console/billing/invoice-titles'),
})

const invoiceablePaymentsQuery = queryOptions({
  queryKey: ['account', 'invoiceable-payments'],
  queryFn: () => get<{ data: InvoiceablePayment[] }>('/console/billing/invoices/payments'),
  staleTime: 0,
})

const specialFields = ['address', 'phone', 'bank', 'bank_account'] as const
const titleFields = ['title', 'tax_number', ...specialFields, 'email', 'remark'] as const

export function InvoiceTitleForm({ close }: Closing) {
  const t = useMessages('invoices')
  const { draft, field } = useDraft({
    kind: 'enterprise',
    title: '',
    tax_number: '',
    address: '',
    phone: '',
    bank: '',
    bank_account: '',
    email: '',
    remark: '',
  })
  const isEnterprise = draft.kind === 'enterprise'
  const save = useAction(async () => {
    const filled = Object.entries(draft).filter(([, value]) => value.trim() !== '')
    await mutateAccount('POST', '/billing/invoice-titles', Object.fromEntries(filled))
    showToast(t.titleAdded)
    close()
  })
  const fieldError = useFieldError(save.error)
  const labels = { address: t.address, phone: t.phone, bank: t.bank, bank_account: t.bankAccount }
  return (
    <Form action={save} submitLabel={t.addTitle} cancel={close} inlineErrors={titleFields}>
      <SelectField
        label={t.kind}
        options={(['enterprise', 'person'] as const).map((value) => ({ value, label: t.kinds[value] }))}
        {...field('kind')}
      />
      <TextInput label={t.name} required maxLength={100} error={fieldError('title')} {...field('title')} />
      <TextInput
        label={t.taxNumber}
        description={t.taxNumberHint}
        required={isEnterprise}
        error={fieldError('tax_number')}
        {...field('tax_number')}
      />
      {isEnterprise && (
        <>
          <p className="muted">{t.specialOnly}</p>
          {specialFields.map((name) => (
            <TextInput key={name} label={labels[name]} error={fieldError(name)} {...field(name)} />
          ))}
        </>
      )}
      <TextInput type="email" label={t.email} error={fieldError('email')} {...field('email')} />
      <TextInput label={t.remark} maxLength={200} error={fieldError('remark')} {...field('remark')} />
    </Form>
  )
}

export function RequestInvoiceForm({ close }: Closing) {
  const t = useMessages('invoices')
  return (
    <QueryBoundary options={invoiceTitlesQuery}>
      {({ data: titles }) => (
        <QueryBoundary options={invoiceablePaymentsQuery}>
          {({ data: payments }) => {
            if (payments.length === 0) return <p>{t.noPayments}</p>
            if (titles.length === 0) return <NoTitle />
            return <RequestFields payments={payments} titles={titles} close={close} />
          }}
        </QueryBoundary>
      )}
    </QueryBoundary>
  )
}

function NoTitle() {
  const t = useMessages('invoices')
  return (
    <>
      <p>{t.chooseTitle}</p>
      <Link to="/billing/invoices" search={{ add: 'title' }}>
        {t.addTitle}
      </Link>
    </>
  )
}

interface RequestFieldsProps extends Closing {
  readonly payments: readonly InvoiceablePayment[]
  readonly titles: readonly InvoiceTitle[]
}

function RequestFields({ payments, titles, close }: RequestFieldsProps) {
  const t = useMessages('invoices')
  const methods = useMessages('payments').methods
  const language = useLanguage()
  const { draft, field } = useDraft({ title: titles[0]?.id ?? '', special: '' })
  const [orders, setOrders] = useState<readonly string[]>([])
  const chosen = payments.filter(({ order }) => orders.includes(order))
  const total = chosen.reduce((sum, { amount }) => sum + toNanos(amount), 0n)
  const send = useAction(async () => {
    const body = { title: draft.title, special: draft.special !== '', orders }
    await mutateAccount('POST', '/billing/invoices', body)
    showToast(t.requested)
    close()
  })
  const fieldError = useFieldError(send.error)
  return (
    <Form
      action={send}
      submitLabel={t.request}
      cancel={close}
      inlineErrors={['title', 'orders']}
      isIncomplete={orders.length === 0}
    >
      <Checkbox.Group
        label={t.payments}
        value={[...orders]}
        onChange={setOrders}
        error={fieldError('orders')}
      >
        <div className="stack">
          {payments.map(({ order, method, paid_at: at, amount, currency }) => (
            <Checkbox
              key={order}
              value={order}
              label={`${formatDateTime(Date.parse(at), language)} · ${methods[method]} · ${formatMoney(amount, currency)}`}
            />
          ))}
        </div>
      </Checkbox.Group>
      <SelectField
        label={t.buyer}
        options={titles.map(({ id, title }) => ({ value: id, label: title }))}
        error={fieldError('title')}
        {...field('title')}
      />
      <SelectField
        label={t.kindOfInvoice}
        anyLabel={t.ordinary}
        options={[{ value: 'special', label: t.special }]}
        {...field('special')}
      />
      {chosen[0] !== undefined && <p>{t.total(formatMoney(fromNanos(total), chosen[0].currency))}</p>}
    </Form>
  )
}
