/** Tiers: the default rate limits and price factor of accounts. */
import { Button, TextInput } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { mutateAdmin, tiersQuery } from '../../../api/admin-queries.ts'
import type { Tier } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { useAction, useFieldError } from '../../../components/forms/use-action.ts'
import { Dialog } from '../../../components/forms/dialog.tsx'
import { AmountField, Form, useDraft } from '../../../components/forms/fields.tsx'
import {
  changedFields,
  integerText,
  optionalInteger,
  previousFields,
  undoOf,
} from '../../../components/forms/field-values.ts'
import { formatNumber } from '../../../components/format.ts'
import { Icon } from '../../../components/layout/icon.tsx'
import { LimitFields, limitNames } from '../../../components/forms/limit-fields.tsx'
import { QueryBoundary } from '../../../components/feedback/query-boundary.tsx'
import { Page } from '../../../components/layout/page.tsx'
import { Table } from '../../../components/tables/table.tsx'
import { showToast } from '../../../components/feedback/toast.tsx'

const route = getRouteApi('/shell/operator/tiers')

export function Tiers() {
  const t = useMessages('catalog').tiers
  const shell = useMessages('shell')
  const navigate = route.useNavigate()
  const { add, edit } = route.useSearch()
  const close = (): void => void navigate({ search: {} })
  return (
    <Page
      title={t.title}
      lead={t.lead}
      csv={{ path: '/admin/tiers' }}
      actions={
        <Button leftSection={<Icon name="plus" />} onClick={() => void navigate({ search: { add: 'yes' } })}>
          {t.add}
        </Button>
      }
    >
      <QueryBoundary options={tiersQuery}>
        {({ data }) => {
          const edited = data.find(({ name }) => name === edit)
          return (
            <>
              <Table
                label={t.title}
                rows={data}
                rowId={({ name }) => name}
                onRowClick={({ name }) => void navigate({ search: { edit: name } })}
                columns={[
                  { header: t.name, primary: true, cell: ({ name }) => name },
                  ...limitNames.map((limit) => ({
                    header: shell.limits[limit],
                    numeric: true,
                    cell: (tier: Tier) => {
                      const value = tier[limit]
                      return value === null ? shell.unlimited : formatNumber(value)
                    },
                  })),
                  { header: t.factor, numeric: true, cell: (tier) => `× ${tier.price_factor}` },
                ]}
              />
              <Dialog title={t.add} opened={add !== undefined} close={close}>
                <TierForm tier={null} close={close} />
              </Dialog>
              {edited && (
                <Dialog title={t.editTitle(edited.name)} opened close={close}>
                  <TierForm tier={edited} close={close} />
                </Dialog>
              )}
            </>
          )
        }}
      </QueryBoundary>
    </Page>
  )
}

interface TierFormProps {
  readonly tier: Tier | null
  readonly close: () => void
}

function TierForm({ tier, close }: TierFormProps) {
  const t = useMessages('catalog').tiers
  const shell = useMessages('shell')
  const { draft, initialDraft, field } = useDraft({
    name: tier?.name ?? '',
    rpm: integerText(tier?.rpm),
    tpm: integerText(tier?.tpm),
    rpd: integerText(tier?.rpd),
    concurrency: integerText(tier?.concurrency),
    price_factor: tier?.price_factor ?? '1',
  })
  const save = useAction(async () => {
    const bodyFrom = (each: typeof draft) => ({
      ...(Object.fromEntries(limitNames.map((name) => [name, optionalInteger(each[name])])) as object),
      price_factor: each.price_factor.trim(),
    })
    const body = bodyFrom(draft)
    if (tier === null) {
      await mutateAdmin('POST', '/tiers', { ...body, name: draft.name.trim() })
      showToast(shell.saved)
    } else {
      const changes = changedFields(bodyFrom(initialDraft), body)
      const patch = (fields: unknown): Promise<unknown> =>
        mutateAdmin('PATCH', `/tiers/${encodeURIComponent(tier.name)}`, fields)
      await patch(changes)
      showToast(shell.saved, { undo: undoOf(changes, () => patch(previousFields(tier, changes))) })
    }
    close()
  })
  const fieldError = useFieldError(save.error)
  return (
    <Form
      action={save}
      submitLabel={tier === null ? shell.create : shell.save}
      cancel={close}
      inlineErrors={['name', ...limitNames, 'price_factor']}
    >
      <p className="muted">{tier === null ? t.addLead : t.editLead}</p>
      <div className="fields">
        {tier === null && (
          <TextInput
            className="full-width"
            label={t.name}
            required
            autoComplete="off"
            error={fieldError('name')}
            {...field('name')}
          />
        )}
        <LimitFields placeholder={shell.unlimited} field={field} fieldError={fieldError} />
        <AmountField
          label={t.factor}
          description={t.factorHint}
          required
          error={fieldError('price_factor')}
          {...field('price_factor')}
        />
      </div>
    </Form>
  )
}
