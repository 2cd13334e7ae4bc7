/** The customer's overview: balance, caps, latest requests, getting started, and a snippet to paste. */
import { Link } from '@tanstack/react-router'
import type { Overview as OverviewData } from '../../api/contract.ts'
import { useLanguage, useMessages, type Language } from '../../locales/messages.ts'
import { overviewQuery } from '../../api/account-queries.ts'
import { Chart, Meter, useAccountDays } from '../../components/charts/chart.tsx'
import { CodeSnippets } from '../../components/code/code-block.tsx'
import { formatDay, formatMoney, formatNumber, formatRoundedMoney } from '../../components/format.ts'
import { localized } from '../../components/layout/announcement-bar.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { LatestRequests } from '../../components/tables/latest-requests.tsx'
import { QueryBoundary } from '../../components/feedback/query-boundary.tsx'
import { StatTiles, Page, Section } from '../../components/layout/page.tsx'
import { CopyButton, Money, useCurrency, RelativeTime } from '../../components/tables/format-cells.tsx'
import { TestRequest } from '../../components/code/test-request.tsx'
import { useBaseUrls, useSession } from '../../api/session.ts'

export function Overview() {
  const t = useMessages('account').overview
  return (
    <Page title={t.title}>
      <QueryBoundary options={overviewQuery}>
        {(overview) => <OverviewContent overview={overview} />}
      </QueryBoundary>
    </Page>
  )
}

function OverviewContent({ overview }: { readonly overview: OverviewData }) {
  const t = useMessages('account').overview
  const currency = useCurrency()
  const { today, runway_days: runway } = overview
  const hours = overview.hours.map(({ time, ...sums }) => ({ time, value: sums.requests }))
  const days = overview.days.map(({ time, cost }) => ({ time, value: Number(cost) }))
  const errors = overview.hours.map(({ time, ...sums }) => ({ time, value: sums.errors }))
  return (
    <>
      <GettingStarted overview={overview} />
      <Incidents overview={overview} />
      <ReachedCap cap={overview.caps.daily} period="daily" />
      <ReachedCap cap={overview.caps.monthly} period="monthly" />
      <StatTiles
        stats={[
          {
            name: t.balance,
            definition: 'balance',
            value: <Money amount={overview.balance} />,
            note: runway === null ? t.noSpending : t.runway(runway),
          },
          { name: t.held, definition: 'held', value: <Money amount={overview.held} />, note: t.heldNote },
          {
            name: t.today,
            definition: 'spentToday',
            value: <Money amount={overview.caps.daily.spent} />,
            note: <CapUsage cap={overview.caps.daily} name={t.dailyCap} />,
          },
          {
            name: t.month,
            definition: 'spentMonth',
            value: <Money amount={overview.caps.monthly.spent} />,
            note: <CapUsage cap={overview.caps.monthly} name={t.monthlyCap} />,
          },
          {
            name: t.requestsToday,
            definition: 'requestsToday',
            value: formatNumber(today.requests),
            note: t.errors(formatNumber(today.errors)),
          },
        ]}
      />
      {overview.keys.unusual > 0 && (
        <p className="callout warning">
          {t.unusual(overview.keys.unusual)} <Link to="/keys">{t.review}</Link>
        </p>
      )}
      <div className="charts">
        <Chart
          title={t.requests24}
          definition="requests24"
          points={hours}
          step="hour"
          format={formatNumber}
        />
        <Chart
          title={t.cost30}
          definition="cost30"
          points={days}
          step={useAccountDays()}
          format={(value) => formatRoundedMoney(value, currency)}
          tone="secondary"
        />
        {today.errors > 0 && (
          <Chart
            title={t.errors24}
            definition="failed24"
            points={errors}
            step="hour"
            format={formatNumber}
            tone="danger"
          />
        )}
      </div>
      <LatestRequests />
      <ConnectSection model={overview.example_model} />
    </>
  )
}

function Incidents({ overview }: { readonly overview: OverviewData }) {
  const t = useMessages('account').overview
  const language = useLanguage()
  return overview.incidents.map(({ id, title, models, opened_at: openedAt }) => (
    <p key={id} className="callout warning">
      <strong>{localized(title, language)}</strong> {models.length === 0 ? t.wholeService : models.join(', ')}
      {' · '}
      <RelativeTime at={openedAt} />{' '}
      {overview.status_page && <a href={`/status?lang=${language}`}>{t.viewStatus}</a>}
    </p>
  ))
}

/** `00:00`. */
function formatClock(at: number, language: Language, timeZone: string): string {
  const options = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone } as const
  return new Intl.DateTimeFormat(language, options).format(at)
}

interface ReachedCapProps {
  readonly cap: OverviewData['caps']['daily']
  readonly period: 'daily' | 'monthly'
}

function ReachedCap({ cap: { cap, reached, resets_at: resetsAt }, period }: ReachedCapProps) {
  const t = useMessages('account').overview
  const currency = useCurrency()
  const language = useLanguage()
  const { account } = useSession()
  if (!reached || cap === null || account === null) return null
  const format = period === 'daily' ? formatClock : formatDay
  const until = format(Date.parse(resetsAt), language, account.timezone)
  return (
    <p className="callout warning">
      {t.capReached[period](formatMoney(cap, currency), until)}{' '}
      <Link to="/billing" search={{ edit: 'caps' }}>
        {t.raiseCap}
      </Link>
    </p>
  )
}

interface CapUsageProps {
  readonly cap: OverviewData['caps']['daily']
  readonly name: string
}

function CapUsage({ cap, name }: CapUsageProps) {
  const t = useMessages('account').overview
  if (cap.cap === null || cap.share === null) {
    return (
      <Link to="/billing" search={{ edit: 'caps' }}>
        {t.setCap}
      </Link>
    )
  }
  return (
    <Meter label={name} share={cap.share}>
      <span>
        {t.of} <Money amount={cap.cap} />
        {cap.projected_at !== null && !cap.reached && (
          <>
            {' · '}
            {t.reached} <RelativeTime at={cap.projected_at} />
          </>
        )}
      </span>
    </Meter>
  )
}

function GettingStarted({ overview: { steps } }: { readonly overview: OverviewData }) {
  const t = useMessages('account').overview
  if (steps.has_balance && steps.has_key && steps.has_request) return null
  const list = [
    { isDone: steps.has_balance, to: '/billing', text: t.stepBalance },
    { isDone: steps.has_key, to: '/keys', text: t.stepKey },
    { isDone: steps.has_request, to: '/guide', text: t.stepRequest },
  ] as const
  return (
    <Section title={t.steps}>
      <ol className="panel checklist">
        {list.map(({ isDone, to, text }) => (
          <li key={to} className={isDone ? 'muted' : ''}>
            <Icon name={isDone ? 'check' : 'dot'} />
            {isDone ? <s>{text}</s> : <Link to={to}>{text}</Link>}
          </li>
        ))}
      </ol>
    </Section>
  )
}

function ConnectSection({ model }: { readonly model: string | null }) {
  const t = useMessages('account').overview
  const baseUrls = useBaseUrls()
  return (
    <Section title={t.connect} lead={t.connectLead}>
      <div className="row">
        {baseUrls.map((url) => (
          <CopyButton key={url} text={url} />
        ))}
      </div>
      {model === null ? (
        <p className="callout warning">{t.noModel}</p>
      ) : (
        <>
          <CodeSnippets baseUrl={baseUrls[0]} model={model} secret={null} />
          <TestRequest model={model} />
        </>
      )}
    </Section>
  )
}
