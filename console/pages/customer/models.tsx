/** The models on offer, with the account's prices and their success rate. */
import { TextInput } from '@mantine/core'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { OfferedModel } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { offeredModelsQuery, refreshMs } from '../../api/account-queries.ts'
import { formatCompact, formatDuration, formatNumber, formatSuccessRate } from '../../components/format.ts'
import { QueryBoundary } from '../../components/feedback/query-boundary.tsx'
import { EmptyState } from '../../components/feedback/empty-state.tsx'
import { mediaNames } from '../../components/forms/price-fields.tsx'
import { Page } from '../../components/layout/page.tsx'
import { CopyButton, Money, StatusLabel } from '../../components/tables/format-cells.tsx'
import { ModelOperations } from '../../components/tables/operation-name.tsx'
import { Table } from '../../components/tables/table.tsx'
import { toolLabel } from '../../components/forms/price-text.ts'

const route = getRouteApi('/shell/models')

export function OfferedModels() {
  const t = useMessages('portal').models
  const navigate = route.useNavigate()
  const { q = '' } = route.useSearch()
  return (
    <Page title={t.title} lead={t.lead}>
      <div className="filters">
        <TextInput
          label={t.filter}
          value={q}
          onChange={(event) => void navigate({ search: { q: event.currentTarget.value }, replace: true })}
        />
      </div>
      <QueryBoundary options={{ ...offeredModelsQuery, refetchInterval: refreshMs }}>
        {({ data }) => {
          const matching = data.filter(({ id }) => id.includes(q.trim()))
          return matching.length === 0 ? (
            <EmptyState title={t.none}>{t.noneLead}</EmptyState>
          ) : (
            <ModelTable models={matching} />
          )
        }}
      </QueryBoundary>
    </Page>
  )
}

/** Green from 99%, red below 95%. */
export function SuccessRate({ share }: { readonly share: number | null }) {
  const t = useMessages('portal').models
  if (share === null) return <span className="muted">{t.noTraffic}</span>
  const tone = share >= 0.99 ? 'success' : 'warning'
  return <StatusLabel tone={share < 0.95 ? 'danger' : tone}>{formatSuccessRate(share)}</StatusLabel>
}

interface UnitPricesProps {
  readonly prices: OfferedModel['prices']
}

/** The prices of requests with a longer input. */
function LongPrices({ prices, of }: UnitPricesProps & { readonly of: 'input' | 'output' }) {
  const t = useMessages('portal').models
  return prices.above.map((rates) => (
    <small key={rates.input_tokens}>
      {t.above(formatCompact(rates.input_tokens))} <Money amount={rates[of]} />
    </small>
  ))
}

/** The prices of images and audio. */
function MediaPrices({ prices, isOutput }: UnitPricesProps & { readonly isOutput: boolean }) {
  const t = useMessages('prices').form
  const names = mediaNames.filter((name) => name.startsWith('output') === isOutput)
  return names.map((name) => {
    const amount = prices.media[name]
    return (
      amount !== undefined && (
        <small key={name}>
          {t[name]} <Money amount={amount} />
        </small>
      )
    )
  })
}

function ModelTable({ models }: { readonly models: readonly OfferedModel[] }) {
  const t = useMessages('portal').models
  const price = (amount: string | null) => (amount === null ? '–' : <Money amount={amount} />)
  return (
    <Table
      label={t.title}
      rows={models}
      rowId={({ id }) => id}
      columns={[
        {
          header: t.id,
          primary: true,
          cell: ({ id, owned_by: owner, operations }) => (
            <>
              <CopyButton text={id} />
              <small>{owner}</small>
              <ModelOperations operations={operations} />
            </>
          ),
        },
        {
          header: t.input,
          numeric: true,
          cell: ({ free, prices }) => (
            <>
              {free ? <span className="tag">{t.free}</span> : price(prices.input)}
              <LongPrices prices={prices} of="input" />
              <MediaPrices prices={prices} isOutput={false} />
            </>
          ),
        },
        {
          header: t.output,
          numeric: true,
          cell: ({ free, prices }) => (
            <>
              {free ? '' : price(prices.output)}
              <LongPrices prices={prices} of="output" />
              <MediaPrices prices={prices} isOutput />
            </>
          ),
        },
        {
          header: t.cached,
          numeric: true,
          wideOnly: true,
          cell: ({ free, prices }) => (free ? '' : price(prices.cached_input)),
        },
        {
          header: t.perRequest,
          numeric: true,
          wideOnly: true,
          cell: ({ prices }) => (
            <>
              {Number(prices.per_request) === 0 ? '–' : price(prices.per_request)}
              {Number(prices.per_search) > 0 && (
                <small>
                  {price(prices.per_search)} {t.perSearch}
                </small>
              )}
              {prices.per_tool_call.map(({ tool, quality, size, amount }) => (
                <small key={toolLabel({ tool, quality, size })}>
                  {price(amount)} {t.perCall(toolLabel({ tool, quality, size }))}
                </small>
              ))}
              {Object.entries(prices.service_tiers).map(([tier, factor]) => (
                <small key={tier}>
                  {tier} × {factor}
                </small>
              ))}
            </>
          ),
        },
        {
          header: t.context,
          numeric: true,
          cell: (model) => (
            <span title={formatNumber(model.context_tokens)}>{formatCompact(model.context_tokens)}</span>
          ),
        },
        {
          header: t.successRate,
          definition: 'success24',
          cell: ({ success }) => <SuccessRate share={success} />,
        },
        {
          header: t.firstToken,
          numeric: true,
          wideOnly: true,
          cell: (model) => (model.first_token_ms === null ? '–' : formatDuration(model.first_token_ms)),
        },
        {
          header: t.tryIt,
          hasHiddenHeader: true,
          cell: ({ id, operations }) =>
            operations.includes('chat') && (
              <Link to="/playground" search={{ model: id }}>
                {t.tryIt}
              </Link>
            ),
        },
      ]}
    />
  )
}
