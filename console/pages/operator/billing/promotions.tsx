/** Credit that new accounts get, within a time and a number. */
import { Button, TextInput } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { change } from '../../../api/admin-queries.ts'
import type { Promotion } from '../../../contract.ts'
import { useWords } from '../../../language.ts'
import { useAction, useFieldError } from '../../../components/forms/use-action.ts'
import { confirm } from '../../../parts/confirm.tsx'
import {
  AmountField,
  Dialog,
  Form,
  isDecimal,
  useDraft,
  WholeField,
} from '../../../components/forms/fields.tsx'
import { numberText } from '../../../components/format.ts'
import { Icon } from '../../../components/layout/icon.tsx'
import { Paged } from '../../../components/feedback/query-boundary.tsx'
import { Nothing } from '../../../components/feedback/empty-state.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { Copyable, Money, State, When } from '../../../components/tables/format-cells.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { say } from '../../../components/feedback/toast.tsx'

const route = getRouteApi('/shell/operator/promotions')

export function Promotions() {
  const words = useWords('offer').promotions
  const navigate = route.useNavigate()
  const { add, edit } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  const addButton = (
    <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
      {words.add}
    </Button>
  )
  return (
    <Page title={words.title} lead={words.lead} actions={addButton}>
      <Paged<Promotion>
        name={['admin', 'promotions']}
        path="/admin/promotions"
        empty={
          <Nothing title={words.none}>
            <p>{words.noneLead}</p>
            {addButton}
          </Nothing>
        }
      >
        {(promotions) => {
          const edited = promotions.find(({ id }) => id === edit)
          return (
            <>
              <PromotionTable promotions={promotions} />
              {edited && (
                <Dialog title={words.editTitle(edited.name)} opened close={close}>
                  <PromotionForm promotion={edited} close={close} />
                </Dialog>
              )}
            </>
          )
        }}
      </Paged>
      <Dialog title={words.add} opened={add !== undefined} close={close}>
        <PromotionForm promotion={null} close={close} />
      </Dialog>
    </Page>
  )
}

function PromotionTable({ promotions }: { readonly promotions: readonly Promotion[] }) {
  const words = useWords('offer').promotions
  const shell = useWords('shell')
  const navigate = route.useNavigate()
  const states: Readonly<Record<string, string>> = words.states
  const pause = (promotion: Promotion): void =>
    confirm({
      title: words.pauseTitle(promotion.name),
      effect: words.pauseEffect,
      verb: words.pause,
      carryOut: () => change('PATCH', `/promotions/${promotion.id}`, { status: 'paused' }),
      done: words.paused,
    })
  const resume = async (promotion: Promotion): Promise<void> => {
    await change('PATCH', `/promotions/${promotion.id}`, { status: 'active' })
    say(words.resumed)
  }
  return (
    <Table
      label={words.title}
      rows={promotions}
      idOf={({ id }) => id}
      columns={[
        { head: words.name, names: true, cell: ({ name }) => name },
        {
          head: words.state,
          cell: ({ state }) => (
            <State tone={state === 'running' ? 'good' : 'quiet'}>{states[state] ?? state}</State>
          ),
        },
        { head: words.amount, figures: true, cell: ({ amount }) => <Money amount={amount} /> },
        {
          head: words.code,
          cell: ({ code }) => (code === null ? words.everybody : <Copyable text={code} />),
        },
        {
          head: words.granted,
          figures: true,
          cell: ({ granted, max_grants: most }) =>
            most === null ? numberText(granted) : `${numberText(granted)} / ${numberText(most)}`,
        },
        { head: words.ends, cell: (promotion) => <When at={promotion.ends_at} /> },
        {
          head: words.acts,
          cell: (promotion) => (
            <span className="acts">
              <button
                type="button"
                className="link"
                onClick={() => void navigate({ search: { edit: promotion.id } })}
              >
                {shell.edit}
              </button>
              <button
                type="button"
                className="link"
                onClick={() => (promotion.status === 'active' ? pause(promotion) : void resume(promotion))}
              >
                {promotion.status === 'active' ? words.pause : words.resume}
              </button>
            </span>
          ),
        },
      ]}
    />
  )
}

interface PromotionFormProps {
  readonly promotion: Promotion | null
  readonly close: () => void
}

function PromotionForm({ promotion, close }: PromotionFormProps) {
  const words = useWords('offer').promotions
  const shell = useWords('shell')
  const text = (value: number | null | undefined): string => (typeof value === 'number' ? String(value) : '')
  const { draft, field } = useDraft({
    name: promotion?.name ?? '',
    amount: promotion?.amount ?? '',
    code: promotion?.code ?? '',
    ends: promotion?.ends_at?.slice(0, 10) ?? '',
    most: text(promotion?.max_grants),
    days: text(promotion?.credit_days),
  })
  const save = useAction(async () => {
    const count = (value: string): number | null => (value.trim() === '' ? null : Number(value))
    const body = {
      name: draft.name.trim(),
      amount: draft.amount.trim(),
      code: draft.code.trim() === '' ? null : draft.code.trim(),
      ends_at: draft.ends === '' ? null : new Date(`${draft.ends}T23:59:59`).toISOString(),
      max_grants: count(draft.most),
      credit_days: count(draft.days),
    }
    if (promotion === null) await change('POST', '/promotions', body)
    else await change('PATCH', `/promotions/${promotion.id}`, body)
    say(shell.saved)
    close()
  })
  const errorOf = useFieldError(save.error)
  return (
    <Form
      action={save}
      verb={promotion === null ? words.add : shell.save}
      cancel={close}
      beside={['name', 'amount', 'code', 'ends_at', 'max_grants', 'credit_days']}
      isIncomplete={!isDecimal(draft.amount) || draft.name.trim() === ''}
    >
      <div className="fields">
        <TextInput
          label={words.name}
          required
          autoComplete="off"
          error={errorOf('name')}
          {...field('name')}
        />
        <AmountField label={words.amount} required error={errorOf('amount')} {...field('amount')} />
        <TextInput
          label={words.code}
          description={words.codeHint}
          autoComplete="off"
          error={errorOf('code')}
          {...field('code')}
        />
        <TextInput label={words.ends} type="date" error={errorOf('ends_at')} {...field('ends')} />
        <WholeField
          label={words.most}
          placeholder={shell.unlimited}
          error={errorOf('max_grants')}
          {...field('most')}
        />
        <WholeField
          label={words.days}
          placeholder={words.never}
          error={errorOf('credit_days')}
          {...field('days')}
        />
      </div>
    </Form>
  )
}
