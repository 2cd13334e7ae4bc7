/** The limits and the price factor that accounts start from. */
import { Button, TextInput } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { change, tiersQuery } from '../../../api/admin-queries.ts'
import type { Tier } from '../../../contract.ts'
import { useWords } from '../../../language.ts'
import { useAction, useFieldError } from '../../../components/forms/use-action.ts'
import { AmountField, Dialog, Form, useDraft } from '../../../components/forms/fields.tsx'
import { numberText } from '../../../components/format.ts'
import { Icon } from '../../../components/layout/icon.tsx'
import { LimitFields, limitNames } from '../../../components/forms/limit-fields.tsx'
import { Asked } from '../../../components/feedback/query-boundary.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { say } from '../../../components/feedback/toast.tsx'

const route = getRouteApi('/shell/operator/tiers')

export function Tiers() {
  const words = useWords('offer').tiers
  const shell = useWords('shell')
  const navigate = route.useNavigate()
  const { add, edit } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
          {words.add}
        </Button>
      }
    >
      <Asked options={tiersQuery}>
        {({ data }) => {
          const edited = data.find(({ name }) => name === edit)
          return (
            <>
              <Table
                label={words.title}
                rows={data}
                idOf={({ name }) => name}
                columns={[
                  { head: words.name, names: true, cell: ({ name }) => name },
                  ...limitNames.map((limit) => ({
                    head: shell.limits[limit],
                    figures: true,
                    cell: (tier: Tier) => {
                      const value = tier[limit]
                      return value === null ? shell.unlimited : numberText(value)
                    },
                  })),
                  { head: words.factor, figures: true, cell: (tier) => `× ${tier.price_factor}` },
                  {
                    head: words.acts,
                    cell: ({ name }) => (
                      <button
                        type="button"
                        className="link"
                        onClick={() => void navigate({ search: { edit: name } })}
                      >
                        {shell.edit}
                      </button>
                    ),
                  },
                ]}
              />
              <Dialog title={words.add} opened={add !== undefined} close={close}>
                <TierForm tier={null} close={close} />
              </Dialog>
              {edited && (
                <Dialog title={words.editTitle(edited.name)} opened close={close}>
                  <TierForm tier={edited} close={close} />
                </Dialog>
              )}
            </>
          )
        }}
      </Asked>
    </Page>
  )
}

interface TierFormProps {
  readonly tier: Tier | null
  readonly close: () => void
}

function TierForm({ tier, close }: TierFormProps) {
  const words = useWords('offer').tiers
  const shell = useWords('shell')
  const text = (value: number | null | undefined): string => (typeof value === 'number' ? String(value) : '')
  const { draft, field } = useDraft({
    name: tier?.name ?? '',
    rpm: text(tier?.rpm),
    tpm: text(tier?.tpm),
    rpd: text(tier?.rpd),
    concurrency: text(tier?.concurrency),
    price_factor: tier?.price_factor ?? '1',
  })
  const save = useAction(async () => {
    const limits = limitNames.map((name) => [name, draft[name] === '' ? null : Number(draft[name])])
    const body = { ...Object.fromEntries(limits), price_factor: draft.price_factor.trim() } as object
    if (tier === null) await change('POST', '/tiers', { ...body, name: draft.name.trim() })
    else await change('PATCH', `/tiers/${encodeURIComponent(tier.name)}`, body)
    say(shell.saved)
    close()
  })
  const errorOf = useFieldError(save.error)
  return (
    <Form
      action={save}
      verb={tier === null ? shell.create : shell.save}
      cancel={close}
      beside={['name', ...limitNames, 'price_factor']}
    >
      <p className="quiet">{tier === null ? words.addLead : words.editLead}</p>
      <div className="fields">
        {tier === null && (
          <TextInput
            className="whole"
            label={words.name}
            required
            autoComplete="off"
            error={errorOf('name')}
            {...field('name')}
          />
        )}
        <LimitFields placeholder={shell.unlimited} field={field} errorOf={errorOf} />
        <AmountField
          label={words.factor}
          description={words.factorHint}
          required
          error={errorOf('price_factor')}
          {...field('price_factor')}
        />
      </div>
    </Form>
  )
}
