/** The keys of all accounts: found by name, by the beginning of a secret or by whose they are; switched off, ended. */
import { TextInput } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import type { ListedKey } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { KeyTable } from '../../parts/account-keys.tsx'
import { Choice } from '../../components/forms/fields.tsx'
import { Filters, OneOf } from '../../parts/filters.tsx'
import { Paged } from '../../components/feedback/query-boundary.tsx'
import { Nothing } from '../../components/feedback/empty-state.tsx'
import { Page } from '../../components/layout/page.tsx'

const route = getRouteApi('/shell/operator/keys')
const states = ['active', 'disabled', 'expired'] as const
const orders = ['newest', 'oldest', 'last_used', 'longest_unused', 'name'] as const

export function OperatorKeys() {
  const words = useWords('clients').keys
  const own = useWords('account').keys
  const shell = useWords('shell')
  const navigate = route.useNavigate()
  const search = route.useSearch()
  const { q, status, sort } = search
  const isFiltered = q !== undefined || status !== undefined
  return (
    <Page title={words.title} lead={words.lead}>
      <Filters search={search} go={(next) => void navigate({ search: next })}>
        {({ typed, chosen }) => (
          <>
            <TextInput label={words.find} placeholder="sk-slu-…" type="search" {...typed('q')} />
            <OneOf
              label={own.status}
              choices={states.map((value) => ({ value, label: shell.status[value] }))}
              {...chosen('status')}
            />
            <Choice
              label={words.order}
              choices={orders.map((value) => ({ value, label: words.orders[value] }))}
              {...chosen('sort')}
            />
          </>
        )}
      </Filters>
      <Paged<ListedKey>
        name={['admin', 'keys']}
        path="/admin/keys"
        filter={{ q, status, sort }}
        empty={
          <Nothing title={isFiltered ? words.notFound : words.none}>
            {isFiltered ? words.notFoundLead : words.noneLead}
          </Nothing>
        }
      >
        {(keys) => <KeyTable keys={keys} ofAll />}
      </Paged>
    </Page>
  )
}
