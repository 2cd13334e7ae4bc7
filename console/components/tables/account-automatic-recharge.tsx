/** The automatic recharge of an account on the operator’s page: its state, and the switch. */
import { Button } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { mutateAdmin } from '../../api/admin-queries.ts'
import { get } from '../../api/client.ts'
import type { AutomaticRecharge } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { confirm } from '../feedback/confirm-dialog.tsx'
import { Section } from '../layout/page.tsx'
import { AutomaticRechargeFacts } from './automatic-recharge-facts.tsx'

const pathOf = (account: string): string => `/accounts/${encodeURIComponent(account)}/auto-recharge`

function rechargeQuery(account: string) {
  return queryOptions({
    queryKey: ['admin', 'automatic-recharge', account],
    queryFn: () => get<AutomaticRecharge>(`/admin${pathOf(account)}`),
  })
}

/** Nothing for an account that has never had one. */
export function AccountAutomaticRecharge({ account }: { readonly account: string }) {
  const t = useMessages('payments').automatic
  const { data: recharge } = useQuery(rechargeQuery(account))
  if (recharge === undefined || recharge.method === null) return null
  const switchOff = (): void =>
    confirm({
      title: t.switchOff,
      description: t.switchOffEffect,
      confirmLabel: t.switchOff,
      onConfirm: () => mutateAdmin('DELETE', pathOf(account)),
      successMessage: t.switchedOff,
    })
  return (
    <Section
      title={t.title}
      actions={
        recharge.consent !== null && (
          <Button variant="default" onClick={switchOff}>
            {t.switchOff}
          </Button>
        )
      }
    >
      <AutomaticRechargeFacts recharge={recharge} />
    </Section>
  )
}
