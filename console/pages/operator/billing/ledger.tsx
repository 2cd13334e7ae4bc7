/** Verifies the ledger on demand by recomputing it from the journal. */
import { Button } from '@mantine/core'
import { useState } from 'react'
import { get } from '../../../api/client.ts'
import type { LedgerReport } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { useAction } from '../../../components/forms/use-action.ts'
import { formatNumber } from '../../../components/format.ts'
import { Loading, EmptyState, ErrorMessage } from '../../../components/feedback/empty-state.tsx'
import { StatTiles, Page } from '../../../components/layout/page.tsx'
import { Money, StatusLabel } from '../../../components/tables/format-cells.tsx'

export function Ledger() {
  const t = useMessages('operations').ledger
  const [report, setReport] = useState<LedgerReport | null>(null)
  const verify = useAction(async () => {
    setReport(null)
    setReport(await get<LedgerReport>('/admin/ledger/verify'))
  })
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={
        <Button loading={verify.isRunning} onClick={() => void verify.run()}>
          {t.verify}
        </Button>
      }
    >
      {verify.error && <ErrorMessage error={verify.error} />}
      {verify.isRunning && <Loading />}
      {report !== null && (
        <>
          <p className={report.ok ? 'callout' : 'callout warning'} role="status">
            <StatusLabel tone={report.ok ? 'success' : 'danger'}>
              {report.ok ? t.balanced : t.unbalanced}
            </StatusLabel>
          </p>
          <StatTiles
            stats={[
              { name: t.entries, value: formatNumber(report.entries) },
              { name: t.drift, value: <Money amount={report.drift} />, note: t.driftNote },
              { name: t.openHolds, value: formatNumber(report.open_holds), note: t.openHoldsNote },
              { name: t.overrun, value: <Money amount={report.overrun} />, note: t.overrunNote },
            ]}
          />
          {report.findings.length > 0 && (
            <ul className="panel" lang="en">
              {report.findings.map((finding) => (
                <li key={finding}>{finding}</li>
              ))}
            </ul>
          )}
        </>
      )}
      {report === null && !verify.isRunning && <EmptyState title={t.notYet}>{t.notYetLead}</EmptyState>}
    </Page>
  )
}
