/** The operator's forms for invoices: issuing, refusing, reversing. */
import { InputWrapper, TextInput } from '@mantine/core'
import { useId, useState } from 'react'
import { mutateAdmin } from '../../api/admin-queries.ts'
import { useMessages } from '../../locales/messages.ts'
import { showToast } from '../feedback/toast.tsx'
import { Form, useDraft } from './fields.tsx'
import { base64Of, readDataUrl } from './file-content.ts'
import { useAction, useFieldError } from './use-action.ts'

interface InvoiceFormProps {
  readonly invoice: string
  readonly close: () => void
}

const maxFileBytes = 5 * 1024 * 1024
const today = (): string => new Date().toISOString().slice(0, 10)

export function IssueInvoiceForm({ invoice, close }: InvoiceFormProps) {
  const all = useMessages('invoices')
  const t = all.operator
  const id = useId()
  const { draft, field } = useDraft({ number: '', date: today(), link: '' })
  const [file, setFile] = useState<File | undefined>()
  const isTooLarge = file !== undefined && file.size > maxFileBytes
  const save = useAction(async () => {
    const link = draft.link.trim()
    await mutateAdmin('POST', `/invoices/${invoice}/issue`, {
      number: draft.number.trim(),
      date: draft.date,
      ...(link === '' ? {} : { link }),
      ...(file === undefined ? {} : { file: base64Of(await readDataUrl(file)) }),
    })
    showToast(t.issued)
    close()
  })
  const fieldError = useFieldError(save.error)
  return (
    <Form
      action={save}
      submitLabel={t.issue}
      cancel={close}
      inlineErrors={['number', 'date', 'link', 'file']}
      isIncomplete={isTooLarge}
    >
      <p>{t.issueLead}</p>
      <TextInput
        label={all.number}
        required
        inputMode="numeric"
        maxLength={20}
        error={fieldError('number')}
        {...field('number')}
      />
      <TextInput type="date" label={t.date} required error={fieldError('date')} {...field('date')} />
      <InputWrapper
        label={t.file}
        labelProps={{ htmlFor: id }}
        description={t.fileHint}
        error={isTooLarge ? t.fileTooLarge : fieldError('file')}
        size="xs"
      >
        <input
          id={id}
          className="file-input"
          type="file"
          name="file"
          accept=".pdf,.ofd,.xml"
          onChange={(event) => setFile(event.currentTarget.files?.[0])}
        />
      </InputWrapper>
      <TextInput type="url" label={t.link} error={fieldError('link')} {...field('link')} />
    </Form>
  )
}

export function RefuseInvoiceForm({ invoice, close }: InvoiceFormProps) {
  const t = useMessages('invoices').operator
  const { draft, field } = useDraft({ reason: '' })
  const save = useAction(async () => {
    await mutateAdmin('POST', `/invoices/${invoice}/refuse`, { reason: draft.reason.trim() })
    showToast(t.refused)
    close()
  })
  return (
    <Form action={save} submitLabel={t.refuse} cancel={close}>
      <TextInput label={t.reason} required maxLength={500} {...field('reason')} />
    </Form>
  )
}

export function ReverseInvoiceForm({ invoice, close }: InvoiceFormProps) {
  const t = useMessages('invoices').operator
  const { draft, field } = useDraft({ reason: '', credit_note: '' })
  const save = useAction(async () => {
    const creditNote = draft.credit_note.trim()
    await mutateAdmin('POST', `/invoices/${invoice}/reverse`, {
      reason: draft.reason.trim(),
      ...(creditNote === '' ? {} : { credit_note: creditNote }),
    })
    showToast(t.reversed)
    close()
  })
  const fieldError = useFieldError(save.error)
  return (
    <Form action={save} submitLabel={t.reverse} cancel={close} inlineErrors={['credit_note']}>
      <p>{t.reverseLead}</p>
      <TextInput
        label={t.creditNote}
        inputMode="numeric"
        maxLength={20}
        error={fieldError('credit_note')}
        {...field('credit_note')}
      />
      <TextInput label={t.reason} required maxLength={500} {...field('reason')} />
    </Form>
  )
}
