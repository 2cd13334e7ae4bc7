/** Promotions: credit for new accounts, limited in time and number, and bonuses for recharges. */
import { Button, TextInput } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { mutateAdmin } from '../../../api/admin-queries.ts'
import type { Promotion, RechargePromotion } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { useAction, useFieldError } from '../../../components/forms/use-action.ts'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { RechargePromotionForm } from '../../../components/forms/recharge-promotion-form.tsx'
import { AmountField, Form, useDraft, IntegerField } from '../../../components/forms/fields.tsx'
import {
  changedFields,
  dateText,
  endOfDay,
  integerText,
  isDecimal,
  optionalInteger,
  optionalText,
  previousFields,
  undoOf,
} from '../../../components/forms/field-values.ts'
import { formatNumber } from '../../../components/format.ts'
import { Icon } from '../../../components/layout/icon.tsx'
import { PagedList } from '../../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'
import { Page, Section } from '../../../components/layout/page.tsx'
import { CopyButton, Money, useCurrency } from '../../../components/tables/format-cells.tsx'
import { usePromotionColumns } from '../../../components/tables/promotion-columns.tsx'
import { RechargePromotionTable } from '../../../components/tables/recharge-promotion-table.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { showToast } from '../../../components/feedback/toast.tsx'

const route = getRouteApi('/shell/operator/promotions')

export function Promotions() {
  const t = useMessages('catalog').promotions
  const recharge = useMessages('payments').promotions
  const navigate = route.useNavigate()
  const { add, edit } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const open = ({ id }: Promotion | RechargePromotion): void => void navigate({ search: { edit: id } })
  const addButtons = (
    <>
      <Button variant="default" onClick={() => void navigate({ search: { add: 'recharge' } })}>
        {recharge.add}
      </Button>
      <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
        {t.add}
      </Button>
    </>
  )
  return (
    <Page title={t.title} lead={t.lead} csv={{ path: '/admin/promotions' }} actions={addButtons}>
      <PagedList<Promotion | RechargePromotion>
        queryKey={['admin', 'promotions']}
        path="/admin/promotions"
        empty={
          <EmptyState title={t.none}>
            <p>{t.noneLead}</p>
            <div className="row">{addButtons}</div>
          </EmptyState>
        }
      >
        {(all) => {
          const ofSignUp = all.filter((each) => each.on === 'sign_up')
          const ofRecharge = all.filter((each) => each.on === 'recharge')
          const edited = all.find(({ id }) => id === edit)
          return (
            <>
              <div className="stack">
                <Section title={t.trial} lead={t.trialLead}>
                  {ofSignUp.length === 0 ? (
                    <p className="muted">{t.noneLead}</p>
                  ) : (
                    <PromotionTable promotions={ofSignUp} edit={open} />
                  )}
                </Section>
                <Section title={recharge.title} lead={recharge.lead}>
                  {ofRecharge.length === 0 ? (
                    <p className="muted">{recharge.none}</p>
                  ) : (
                    <RechargePromotionTable promotions={ofRecharge} edit={open} />
                  )}
                </Section>
              </div>
              {edited && (
                <Dialog title={t.editTitle(edited.name)} opened close={close}>
                  {edited.on === 'recharge' ? (
                    <RechargePromotionForm promotion={edited} close={close} />
                  ) : (
                    <PromotionForm promotion={edited} close={close} />
                  )}
                </Dialog>
              )}
            </>
          )
        }}
      </PagedList>
      <Dialog title={t.add} opened={add !== undefined && add !== 'recharge'} close={close}>
        <PromotionForm promotion={null} close={close} />
      </Dialog>
      <Dialog title={recharge.add} opened={add === 'recharge'} close={close} size="44rem">
        <RechargePromotionForm promotion={null} close={close} />
      </Dialog>
    </Page>
  )
}

interface PromotionTableProps {
  readonly promotions: readonly Promotion[]
  readonly edit: (promotion: Promotion) => void
}

function PromotionTable({ promotions, edit }: PromotionTableProps) {
  const t = useMessages('catalog').promotions
  const { name, state, ends, actions } = usePromotionColumns<Promotion>({
    edit,
    pauseEffects: ({ granted, max_grants: max }) => [
      t.pauseEffect,
      max === null
        ? t.grantedSoFar(formatNumber(granted))
        : t.grantedOf(formatNumber(granted), formatNumber(max)),
    ],
  })
  return (
    <Table
      label={t.title}
      rows={promotions}
      rowId={({ id }) => id}
      onRowClick={edit}
      columns={[
        name,
        state,
        { header: t.amount, numeric: true, cell: ({ amount }) => <Money amount={amount} /> },
        {
          header: t.code,
          cell: ({ code }) => (code === null ? t.everybody : <CopyButton text={code} />),
        },
        {
          header: t.granted,
          numeric: true,
          cell: ({ granted, max_grants: maxGrants }) =>
            maxGrants === null
              ? formatNumber(granted)
              : `${formatNumber(granted)} / ${formatNumber(maxGrants)}`,
        },
        ends,
        actions,
      ]}
    />
  )
}

interface PromotionFormProps {
  readonly promotion: Promotion | null
  readonly close: () => void
}

function PromotionForm({ promotion, close }: PromotionFormProps) {
  const t = useMessages('catalog').promotions
  const shell = useMessages('shell')
  const currency = useCurrency()
  const { draft, initialDraft, field } = useDraft({
    name: promotion?.name ?? '',
    amount: promotion?.amount ?? '',
    code: promotion?.code ?? '',
    ends: dateText(promotion?.ends_at),
    most: integerText(promotion?.max_grants),
    days: integerText(promotion?.credit_days),
  })
  const save = useAction(async () => {
    const bodyFrom = (each: typeof draft) => ({
      name: each.name.trim(),
      amount: each.amount.trim(),
      code: optionalText(each.code),
      ends_at: endOfDay(each.ends),
      max_grants: optionalInteger(each.most),
      credit_days: optionalInteger(each.days),
    })
    const body = bodyFrom(draft)
    if (promotion === null) {
      await mutateAdmin('POST', '/promotions', body)
      showToast(shell.saved)
    } else {
      const changes = changedFields(bodyFrom(initialDraft), body)
      const patch = (fields: unknown): Promise<unknown> =>
        mutateAdmin('PATCH', `/promotions/${promotion.id}`, fields)
      await patch(changes)
      showToast(shell.saved, { undo: undoOf(changes, () => patch(previousFields(promotion, changes))) })
    }
    close()
  })
  const fieldError = useFieldError(save.error)
  return (
    <Form
      action={save}
      submitLabel={promotion === null ? t.add : shell.save}
      cancel={close}
      inlineErrors={['name', 'amount', 'code', 'ends_at', 'max_grants', 'credit_days']}
      isIncomplete={!isDecimal(draft.amount) || draft.name.trim() === ''}
    >
      <div className="fields">
        <TextInput label={t.name} required autoComplete="off" error={fieldError('name')} {...field('name')} />
        <AmountField
          label={t.amountIn(currency)}
          required
          error={fieldError('amount')}
          {...field('amount')}
        />
        <TextInput
          label={t.code}
          description={t.codeHint}
          autoComplete="off"
          error={fieldError('code')}
          {...field('code')}
        />
        <TextInput label={t.ends} type="date" error={fieldError('ends_at')} {...field('ends')} />
        <IntegerField
          label={t.maxGrants}
          placeholder={shell.unlimited}
          error={fieldError('max_grants')}
          {...field('most')}
        />
        <IntegerField
          label={t.days}
          placeholder={t.never}
          error={fieldError('credit_days')}
          {...field('days')}
        />
      </div>
    </Form>
  )
}
