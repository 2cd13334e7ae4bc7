/** One order: how to pay it, its live state, and what became of it. It asks the relay, which asks the provider. */
import { Button } from '@mantine/core'
import { queryOptions } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { mutateAccount, orderQueryKey } from '../../api/account-queries.ts'
import { call, get } from '../../api/client.ts'
import type { OwnOrder } from '../../api/contract.ts'
import { useStartOrder } from '../../api/start-order.ts'
import { queryClient } from '../../api/session.ts'
import { useAction } from '../../components/forms/use-action.ts'
import { ErrorMessage } from '../../components/feedback/empty-state.tsx'
import { QueryBoundary } from '../../components/feedback/query-boundary.tsx'
import { showToast } from '../../components/feedback/toast.tsx'
import { formatDateTime, formatMoney } from '../../components/format.ts'
import { DescriptionList, Page } from '../../components/layout/page.tsx'
import { CopyButton, Money, useCurrency } from '../../components/tables/format-cells.tsx'
import { OrderState, PaidAmount } from '../../components/tables/payment-cells.tsx'
import { LogTime } from '../../components/tables/time-cells.tsx'
import { useLanguage, useMessages } from '../../locales/messages.ts'

const route = getRouteApi('/shell/billing/orders/$id')

const firstPollMs = 2500
const lastPollMs = 10_000
/** The provider is asked with every third poll; the others read what a notice may have settled. */
const checkEveryPolls = 3

const isOpen = ({ state }: OwnOrder): boolean => state === 'created' || state === 'pending'

function orderQuery(id: string) {
  return queryOptions({
    queryKey: orderQueryKey(id),
    queryFn: ({ client }) => {
      const polls = client.getQueryState(orderQueryKey(id))?.dataUpdateCount ?? 0
      const path = `/console/billing/orders/${encodeURIComponent(id)}`
      return polls % checkEveryPolls === checkEveryPolls - 1
        ? call<OwnOrder>('POST', `${path}/check`, {})
        : get<OwnOrder>(path)
    },
    refetchInterval: ({ state: { data, dataUpdateCount } }) =>
      data !== undefined && isOpen(data) && Math.min(firstPollMs + dataUpdateCount * 250, lastPollMs),
    staleTime: 0,
  })
}

export function OrderPage() {
  const t = useMessages('payments')
  const { id } = route.useParams()
  return (
    <Page title={t.order}>
      <QueryBoundary options={orderQuery(id)} notFound={t.notFound}>
        {(order) => (
          <>
            <OrderStatus order={order} />
            <DescriptionList
              items={[
                [t.order, <CopyButton key="id" text={order.id} />],
                [t.state, <OrderState key="state" order={order} />],
                [t.method, t.methods[order.method]],
                [t.toPay, <PaidAmount key="amount" {...order} />],
                ...(Number(order.fee) > 0
                  ? ([
                      [t.fee, <PaidAmount key="fee" amount={order.fee} currency={order.currency} />],
                    ] as const)
                  : []),
                [t.credited, <Money key="credit" amount={order.credit} />],
                ...(Number(order.bonus) > 0
                  ? ([[t.bonus, <Money key="bonus" amount={order.bonus} />]] as const)
                  : []),
                [t.time, <LogTime key="time" at={order.created_at} />],
                ...(order.transaction === null
                  ? []
                  : ([[t.transaction, <CopyButton key="transaction" text={order.transaction} />]] as const)),
              ]}
            />
          </>
        )}
      </QueryBoundary>
    </Page>
  )
}

function OrderStatus({ order }: { readonly order: OwnOrder }) {
  const t = useMessages('payments')
  const currency = useCurrency()
  const { title: receipt } = useMessages('invoices').receipt
  if (isOpen(order)) return <OpenOrder order={order} />
  if (order.state === 'paid') {
    const total =
      Number(order.bonus) > 0
        ? `${formatMoney(order.credit, currency)} + ${formatMoney(order.bonus, currency)}`
        : formatMoney(order.credit, currency)
    return (
      <div className="callout success stack" role="status">
        <strong>{t.paid}</strong>
        <p>{t.paidLead(total)}</p>
        <div className="row">
          <Link to="/billing">{t.toBilling}</Link>
          <Link to="/billing/orders/$id/receipt" params={{ id: order.id }}>
            {receipt}
          </Link>
        </div>
      </div>
    )
  }
  const isRefused = order.state === 'failed'
  return (
    <div className="callout warning stack" role="status">
      <strong>{isRefused ? t.failed : t.ended}</strong>
      <p>{isRefused ? order.problem : t.endedLead}</p>
      <OrderAgain order={order} />
    </div>
  )
}

/** One click orders the same again, once: what is paid for the old order is credited all the same. */
function OrderAgain({ order }: { readonly order: OwnOrder }) {
  const t = useMessages('payments')
  const startOrder = useStartOrder()
  const { id, method, product, amount } = order
  const again = useAction(() => startOrder({ method, product, amount, clientKey: `again:${id}` }))
  return (
    <>
      {again.error && <ErrorMessage error={again.error} />}
      <div className="row">
        <Button loading={again.isRunning} onClick={() => void again.run()}>
          {t.again}
        </Button>
        <Link to="/billing/recharge">{t.otherMethod}</Link>
      </div>
    </>
  )
}

function OpenOrder({ order }: { readonly order: OwnOrder }) {
  const t = useMessages('payments')
  const path = `/billing/orders/${encodeURIComponent(order.id)}`
  const check = useAction(async () => {
    const checked = await call<OwnOrder>('POST', `/console${path}/check`, {})
    queryClient.setQueryData(orderQueryKey(order.id), checked)
    if (isOpen(checked)) showToast(t.notYet)
  })
  const cancel = useAction(async () => {
    await mutateAccount('POST', `${path}/cancel`, {})
    showToast(t.canceled)
  })
  const { pay } = order
  return (
    <div className="panel stack" role="status">
      {pay?.url !== undefined && (
        <div className="row">
          <Button component="a" href={pay.url}>
            {t.openPage}
          </Button>
        </div>
      )}
      {order.qr_svg !== null && (
        <>
          <p>{t.scan}</p>
          <img className="qr" alt={t.scan} src={`data:image/svg+xml,${encodeURIComponent(order.qr_svg)}`} />
          {order.method === 'wechat' && <p className="muted">{t.scanPhone}</p>}
        </>
      )}
      {pay?.text !== undefined && (
        <>
          <p>{t.transfer}</p>
          <pre className="panel">{pay.text}</pre>
        </>
      )}
      {order.automatic ? <p>{t.automatic.inFlightNote}</p> : <TimeLeft until={order.expires_at} />}
      {check.error && <ErrorMessage error={check.error} />}
      {cancel.error && <ErrorMessage error={cancel.error} />}
      <div className="row">
        <Button variant="default" loading={check.isRunning} onClick={() => void check.run()}>
          {t.checkNow}
        </Button>
        <Button variant="subtle" loading={cancel.isRunning} onClick={() => void cancel.run()}>
          {t.cancel}
        </Button>
      </div>
    </div>
  )
}

/** Below this, the time left is counted down by the second. */
const countdownMs = 3_600_000

function countdownText(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60]
  return `${String(minutes).padStart(2, '0')}:${String(rest).padStart(2, '0')}`
}

function TimeLeft({ until }: { readonly until: string }) {
  const t = useMessages('payments')
  const language = useLanguage()
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const end = Date.parse(until)
  const leftMs = end - now
  if (leftMs <= 0) return null
  const text =
    leftMs < countdownMs ? t.timeLeft(countdownText(leftMs)) : t.payBefore(formatDateTime(end, language))
  return <p className="muted">{text}</p>
}
