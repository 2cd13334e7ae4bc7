/** Whether the money adds up: the whole ledger recomputed from its journal, when asked. */
import { Button } from '@mantine/core'
import { useState } from 'react'
import { get } from '../../api/client.ts'
import type { LedgerVerdict } from '../../contract.ts'
import { useWords } from '../../language.ts'
import { useAction } from '../../components/forms/use-action.ts'
import { numberText } from '../../components/format.ts'
import { Loading, Nothing, Refused } from '../../components/feedback/empty-state.tsx'
import { Figures, Page } from '../../components/layout/page.tsx'
import { Money, State } from '../../components/tables/format-cells.tsx'

export function Ledger() {
  const words = useWords('running').ledger
  const [verdict, setVerdict] = useState<LedgerVerdict | null>(null)
  const verify = useAction(async () => {
    setVerdict(null)
    setVerdict(await get<LedgerVerdict>('/admin/ledger/verify'))
  })
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        <Button loading={verify.isRunning} onClick={() => void verify.run()}>
          {words.verify}
        </Button>
      }
    >
      {verify.error && <Refused error={verify.error} />}
      {verify.isRunning && <Loading />}
      {verdict !== null && (
        <>
          <p className={verdict.ok ? 'hint' : 'hint warn'} role="status">
            <State tone={verdict.ok ? 'good' : 'bad'}>{verdict.ok ? words.holds : words.fails}</State>
          </p>
          <Figures
            figures={[
              { name: words.entries, value: numberText(verdict.entries) },
              { name: words.drift, value: <Money amount={verdict.drift} />, note: words.driftNote },
              { name: words.openHolds, value: numberText(verdict.open_holds), note: words.openHoldsNote },
              { name: words.overrun, value: <Money amount={verdict.overrun} />, note: words.overrunNote },
            ]}
          />
          {verdict.findings.length > 0 && (
            <ul className="panel" lang="en">
              {verdict.findings.map((finding) => (
                <li key={finding}>{finding}</li>
              ))}
            </ul>
          )}
        </>
      )}
      {verdict === null && !verify.isRunning && <Nothing title={words.notYet}>{words.notYetLead}</Nothing>}
    </Page>
  )
}
