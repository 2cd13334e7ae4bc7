/** A customer's first page: money, caps, what was asked, the first steps, and a call to paste. */
import { Link } from '@tanstack/react-router'
import type { Overview as OverviewAnswer } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { overviewQuery } from '../../api/account-queries.ts'
import { Chart, Meter } from '../../components/charts/chart.tsx'
import { Snippets } from '../../parts/code.tsx'
import { numberText, roundMoneyText } from '../../components/format.ts'
import { Icon } from '../../components/layout/icon.tsx'
import { LatestRequests } from '../../components/tables/latest-requests.tsx'
import { Asked } from '../../components/feedback/query-boundary.tsx'
import { Figures, Page, Section } from '../../components/layout/page.tsx'
import { Copyable, Money, useCurrency, When } from '../../components/tables/format-cells.tsx'
import { TestRequest } from '../../parts/test-request.tsx'
import { useSession } from '../../api/session.ts'

export function Overview() {
  const words = useWords('account').overview
  return (
    <Page title={words.title}>
      <Asked options={overviewQuery}>{(overview) => <Shown overview={overview} />}</Asked>
    </Page>
  )
}

function Shown({ overview }: { readonly overview: OverviewAnswer }) {
  const words = useWords('account').overview
  const currency = useCurrency()
  const { today, month, runway_days: runway } = overview
  const hours = overview.hours.map(({ time, ...sums }) => ({ time, value: sums.requests }))
  const days = overview.days.map(({ time, cost }) => ({ time, value: Number(cost) }))
  const errors = overview.hours.map(({ time, ...sums }) => ({ time, value: sums.errors }))
  return (
    <>
      <FirstSteps overview={overview} />
      <Figures
        figures={[
          {
            name: words.balance,
            value: <Money amount={overview.balance} />,
            note: runway === null ? words.noSpending : words.runway(runway),
          },
          { name: words.held, value: <Money amount={overview.held} />, note: words.heldNote },
          {
            name: words.today,
            value: <Money amount={today.cost} />,
            note: <CapOf state={overview.caps.daily} name={words.dailyCap} />,
          },
          {
            name: words.month,
            value: <Money amount={month.cost} />,
            note: <CapOf state={overview.caps.monthly} name={words.monthlyCap} />,
          },
          {
            name: words.requestsToday,
            value: numberText(today.requests),
            note: words.errors(numberText(today.errors)),
          },
        ]}
      />
      {overview.keys.unusual > 0 && (
        <p className="hint warn">
          {words.unusual(overview.keys.unusual)} <Link to="/keys">{words.look}</Link>
        </p>
      )}
      <div className="charts">
        <Chart title={words.requests24} points={hours} step="hour" textOf={numberText} />
        <Chart
          title={words.cost30}
          points={days}
          step="day"
          textOf={(value) => roundMoneyText(value, currency)}
          tone="second"
        />
        {today.errors > 0 && (
          <Chart title={words.errors24} points={errors} step="hour" textOf={numberText} tone="bad" />
        )}
      </div>
      <LatestRequests />
      <FirstCall model={overview.example_model} />
    </>
  )
}

interface CapOfProps {
  readonly state: OverviewAnswer['caps']['daily']
  readonly name: string
}

function CapOf({ state, name }: CapOfProps) {
  const words = useWords('account').overview
  if (state.cap === null || state.share === null) {
    return (
      <Link to="/billing" search={{ edit: 'caps' }}>
        {words.setCap}
      </Link>
    )
  }
  return (
    <Meter label={name} share={state.share}>
      <span>
        {words.of} <Money amount={state.cap} />
        {state.projected_at !== null && (
          <>
            {' · '}
            {words.reached} <When at={state.projected_at} />
          </>
        )}
      </span>
    </Meter>
  )
}

function FirstSteps({ overview: { steps } }: { readonly overview: OverviewAnswer }) {
  const words = useWords('account').overview
  if (steps.has_balance && steps.has_key && steps.has_request) return null
  const list = [
    { isDone: steps.has_balance, to: '/billing', text: words.stepBalance },
    { isDone: steps.has_key, to: '/keys', text: words.stepKey },
    { isDone: steps.has_request, to: '/guide', text: words.stepRequest },
  ] as const
  return (
    <Section title={words.steps}>
      <ol className="panel steps">
        {list.map(({ isDone, to, text }) => (
          <li key={to} className={isDone ? 'quiet' : ''}>
            <Icon name={isDone ? 'check' : 'dot'} />
            {isDone ? <s>{text}</s> : <Link to={to}>{text}</Link>}
          </li>
        ))}
      </ol>
    </Section>
  )
}

function FirstCall({ model }: { readonly model: string | null }) {
  const words = useWords('account').overview
  const { platform } = useSession()
  const [baseUrl = ''] = platform.base_urls
  return (
    <Section title={words.connect} lead={words.connectLead}>
      <div className="row">
        {platform.base_urls.map((url) => (
          <Copyable key={url} text={url} />
        ))}
      </div>
      {model === null ? (
        <p className="hint warn">{words.noModel}</p>
      ) : (
        <>
          <Snippets baseUrl={baseUrl} model={model} secret={null} />
          <TestRequest model={model} />
        </>
      )}
    </Section>
  )
}
