/** What an action affects, in figures, for its confirmation: the active keys, the requests of the last 24 hours. */
import { useQuery } from '@tanstack/react-query'
import { get, queryString } from '../../api/client.ts'
import type { Page } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { formatMoney, formatNumber } from '../format.ts'
import { useCurrency } from '../tables/format-cells.tsx'

/** Sums of the admin API, or of the signed-in customer's own account. */
export type UsagePath = '/admin/usage' | '/console/usage/by'

/** A group without requests is not listed. */
async function countRecentRequests(path: UsagePath, group: 'key' | 'account', id: string): Promise<number> {
  const query = queryString({ group, [group]: id, span: '24h' })
  const { data } = await get<Page<{ readonly requests: number }>>(`${path}${query}`)
  return data[0]?.requests ?? 0
}

async function countActiveKeys(account: string): Promise<number> {
  const query = queryString({ account, status: 'active', limit: 1000 })
  return (await get<Page<unknown>>(`/admin/keys${query}`)).data.length
}

interface AffectedProps {
  readonly figures: readonly string[] | undefined
  readonly describe?: ((figures: string) => string) | undefined
}

function Affected({ figures, describe }: AffectedProps) {
  const t = useMessages('shell')
  return <p>{figures === undefined ? t.loading : (describe ?? t.affected)(figures.join(t.listSeparator))}</p>
}

export function AffectedKey({ id, usage }: { readonly id: string; readonly usage: UsagePath }) {
  const t = useMessages('shell')
  const { data: requests } = useQuery({
    queryKey: ['affected', 'key', id],
    queryFn: () => countRecentRequests(usage, 'key', id),
  })
  return <Affected figures={requests === undefined ? undefined : [t.requests24(formatNumber(requests))]} />
}

export interface AffectedAccountProps {
  readonly id: string
  readonly balance?: string
  /** The sentence around the figures, if the action does not stop the account's traffic. */
  readonly describe?: (figures: string) => string
}

/** For operators. */
export function AffectedAccount({ id, balance, describe }: AffectedAccountProps) {
  const t = useMessages('shell')
  const currency = useCurrency()
  const { data } = useQuery({
    queryKey: ['affected', 'account', id],
    queryFn: () => Promise.all([countActiveKeys(id), countRecentRequests('/admin/usage', 'account', id)]),
  })
  const figures = data && [
    t.activeKeys(data[0]),
    t.requests24(formatNumber(data[1])),
    ...(balance === undefined ? [] : [t.balanceOf(formatMoney(balance, currency))]),
  ]
  return <Affected figures={figures} describe={describe} />
}
