/** What can be called, what it costs this account, and how well it answers. */
import { TextInput } from '@mantine/core'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { OfferedModel } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { offeredQuery } from '../../api/account-queries.ts'
import { compactText, durationText, numberText, percentText } from '../../components/format.ts'
import { Asked } from '../../components/feedback/query-boundary.tsx'
import { Nothing } from '../../components/feedback/empty-state.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Copyable, Money, State } from '../../components/tables/format-cells.tsx'
import { Table } from '../../components/tables/table.tsx'

const route = getRouteApi('/shell/models')

export function OfferedModels() {
  const words = useWords('customer').models
  const navigate = route.useNavigate()
  const { q = '' } = route.useSearch()
  return (
    <Page title={words.title} lead={words.lead}>
      <div className="filters">
        <TextInput
          label={words.filter}
          value={q}
          onChange={(event) => void navigate({ search: { q: event.currentTarget.value }, replace: true })}
        />
      </div>
      <Asked options={offeredQuery}>
        {({ data }) => {
          const shown = data.filter(({ id }) => id.includes(q.trim()))
          return shown.length === 0 ? (
            <Nothing title={words.none}>{words.noneLead}</Nothing>
          ) : (
            <ModelTable models={shown} />
          )
        }}
      </Asked>
    </Page>
  )
}

/** 92 % is not green. */
export function Success({ share }: { readonly share: number | null }) {
  const words = useWords('customer').models
  if (share === null) return <span className="quiet">{words.notAsked}</span>
  const tone = share >= 0.99 ? 'good' : 'warn'
  return <State tone={share < 0.95 ? 'bad' : tone}>{percentText(share)}</State>
}

function ModelTable({ models }: { readonly models: readonly OfferedModel[] }) {
  const words = useWords('customer').models
  const price = (amount: string | null) => (amount === null ? '–' : <Money amount={amount} />)
  return (
    <Table
      label={words.title}
      rows={models}
      idOf={({ id }) => id}
      columns={[
        {
          head: words.id,
          names: true,
          cell: ({ id, owned_by: owner }) => (
            <>
              <Copyable text={id} />
              <small>{owner}</small>
            </>
          ),
        },
        {
          head: words.input,
          figures: true,
          cell: ({ free, prices }) =>
            free ? <span className="tag">{words.free}</span> : price(prices.input),
        },
        { head: words.output, figures: true, cell: ({ free, prices }) => (free ? '' : price(prices.output)) },
        {
          head: words.cached,
          figures: true,
          wide: true,
          cell: ({ free, prices }) => (free ? '' : price(prices.cached_input)),
        },
        {
          head: words.perRequest,
          figures: true,
          wide: true,
          cell: ({ prices }) => (
            <>
              {Number(prices.per_request) === 0 ? '–' : price(prices.per_request)}
              {Number(prices.per_search) > 0 && (
                <small>
                  {price(prices.per_search)} {words.perSearch}
                </small>
              )}
            </>
          ),
        },
        {
          head: words.context,
          figures: true,
          cell: (model) => (
            <span title={numberText(model.context_tokens)}>{compactText(model.context_tokens)}</span>
          ),
        },
        { head: words.success, cell: ({ success }) => <Success share={success} /> },
        {
          head: words.firstToken,
          figures: true,
          wide: true,
          cell: (model) => (model.first_token_ms === null ? '–' : durationText(model.first_token_ms)),
        },
        {
          head: words.tryIt,
          cell: ({ id }) => (
            <Link to="/playground" search={{ model: id }}>
              {words.tryIt}
            </Link>
          ),
        },
      ]}
    />
  )
}
