/** The operator's forms for payments: confirming a transfer, refunding, deciding about a difference, comparing a list. */
import { TextInput } from '@mantine/core'
import { mutateAdmin } from '../../api/admin-queries.ts'
import type { PaymentDifference, PaymentRun } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { showToast } from '../feedback/toast.tsx'
import { AmountField, Form, SelectField, useDraft } from './fields.tsx'
import { useAction, useFieldError } from './use-action.ts'

interface Closing {
  readonly close: () => void
}

const today = (): string => new Date().toISOString().slice(0, 10)
const yesterday = (): string => new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)

/** What a bank's list says about a transfer. */
export interface ListedTransfer {
  readonly received: string
  readonly transaction: string
  readonly date: string
  readonly payer: string
}

interface ConfirmTransferFormProps extends Closing {
  readonly order: string
  readonly transfer?: ListedTransfer
}

export function ConfirmTransferForm({ order, transfer, close }: ConfirmTransferFormProps) {
  const t = useMessages('payments').operator
  const shell = useMessages('shell')
  const { draft, field } = useDraft({
    received: '',
    transaction: '',
    date: today(),
    payer: '',
    ...transfer,
    if_different: '',
  })
  const save = useAction(async () => {
    const { payer, if_different: ifDifferent, ...rest } = draft
    await mutateAdmin('POST', `/orders/${order}/confirm`, {
      ...rest,
      ...(payer.trim() === '' ? {} : { payer: payer.trim() }),
      ...(ifDifferent === '' ? {} : { if_different: ifDifferent }),
    })
    showToast(t.confirmed)
    close()
  })
  const fieldError = useFieldError(save.error)
  return (
    <Form
      action={save}
      submitLabel={t.confirm}
      cancel={close}
      inlineErrors={['received', 'transaction', 'date', 'payer']}
    >
      <AmountField label={t.received} required error={fieldError('received')} {...field('received')} />
      <TextInput
        label={t.bankTransaction}
        required
        error={fieldError('transaction')}
        {...field('transaction')}
      />
      <TextInput type="date" label={t.date} required error={fieldError('date')} {...field('date')} />
      <TextInput label={t.payer} error={fieldError('payer')} {...field('payer')} />
      <SelectField
        label={t.ifDifferent}
        anyLabel={shell.none}
        options={(['credit', 'return'] as const).map((value) => ({
          value,
          label: t.ifDifferentOptions[value],
        }))}
        {...field('if_different')}
      />
    </Form>
  )
}

export function RefundOrderForm({ order, close }: Closing & { readonly order: string }) {
  const t = useMessages('payments')
  const { draft, field } = useDraft({ amount: '', reason: '' })
  const save = useAction(async () => {
    const amount = draft.amount.trim()
    const body = { ...(amount === '' ? {} : { amount }), reason: draft.reason.trim() }
    await mutateAdmin('POST', `/orders/${order}/refunds`, body)
    showToast(t.operator.refundDone)
    close()
  })
  const fieldError = useFieldError(save.error)
  return (
    <Form action={save} submitLabel={t.operator.refund} cancel={close} inlineErrors={['amount', 'reason']}>
      <AmountField label={t.refundAmount} error={fieldError('amount')} {...field('amount')} />
      <TextInput label={t.refundReason} required error={fieldError('reason')} {...field('reason')} />
    </Form>
  )
}

interface RefuseFormProps extends Closing {
  /** Of what is refused. */
  readonly path: string
  /** Says that it is refused. */
  readonly message: string
}

export function RefuseForm({ path, message, close }: RefuseFormProps) {
  const t = useMessages('payments')
  const { draft, field } = useDraft({ reason: '' })
  const save = useAction(async () => {
    await mutateAdmin('POST', `${path}/refuse`, { reason: draft.reason.trim() })
    showToast(message)
    close()
  })
  return (
    <Form action={save} submitLabel={t.operator.refuse} cancel={close}>
      <TextInput label={t.refundReason} required {...field('reason')} />
    </Form>
  )
}

export function CompleteRefundForm({ refund, close }: Closing & { readonly refund: string }) {
  const t = useMessages('payments')
  const { draft, field } = useDraft({ transaction: '' })
  const save = useAction(async () => {
    await mutateAdmin('POST', `/refunds/${refund}/done`, { transaction: draft.transaction.trim() })
    showToast(t.operator.completed)
    close()
  })
  return (
    <Form action={save} submitLabel={t.operator.done} cancel={close}>
      <p>{t.operator.doneLead}</p>
      <TextInput label={t.transaction} required {...field('transaction')} />
    </Form>
  )
}

const decisions = ['settle', 'credit', 'refund_row', 'foreign', 'dismiss'] as const

export function DecideForm({ difference, close }: Closing & { readonly difference: PaymentDifference }) {
  const t = useMessages('payments')
  const { draft, field } = useDraft({ action: 'settle', account: difference.account ?? '', reason: '' })
  const save = useAction(async () => {
    const { action, account, reason } = draft
    await mutateAdmin('POST', `/payments/differences/${difference.id}/resolve`, {
      action,
      ...(account.trim() === '' ? {} : { account: account.trim() }),
      reason: reason.trim(),
    })
    showToast(t.operator.resolved)
    close()
  })
  const fieldError = useFieldError(save.error)
  return (
    <Form action={save} submitLabel={t.operator.resolve} cancel={close} inlineErrors={['account', 'reason']}>
      <SelectField
        label={t.operator.action}
        options={decisions.map((value) => ({ value, label: t.operator.actions[value] }))}
        {...field('action')}
      />
      <TextInput label={t.operator.account} error={fieldError('account')} {...field('account')} />
      <TextInput label={t.refundReason} required error={fieldError('reason')} {...field('reason')} />
    </Form>
  )
}

const comparable = ['stripe', 'alipay', 'wechat', 'epay'] as const

export function CompareForm({ close }: Closing) {
  const t = useMessages('payments')
  const { draft, field } = useDraft({ method: 'stripe', from: yesterday(), to: yesterday() })
  const save = useAction(async () => {
    const run = await mutateAdmin<PaymentRun>('POST', '/payments/reconcile', draft)
    showToast(
      run.problem === null
        ? t.operator.compared(run.payments, run.differences)
        : t.operator.compareFailed(run.problem),
    )
    close()
  })
  const fieldError = useFieldError(save.error)
  return (
    <Form
      action={save}
      submitLabel={t.operator.compare}
      cancel={close}
      inlineErrors={['method', 'from', 'to']}
    >
      <SelectField
        label={t.method}
        options={comparable.map((value) => ({ value, label: t.methods[value] }))}
        error={fieldError('method')}
        {...field('method')}
      />
      <TextInput type="date" label={t.operator.from} required error={fieldError('from')} {...field('from')} />
      <TextInput type="date" label={t.operator.to} required error={fieldError('to')} {...field('to')} />
    </Form>
  )
}
