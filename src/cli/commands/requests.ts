/** `sluice requests …`: what was asked, for whoever keeps it elsewhere. */

import type { Command } from 'commander'
import { accountIdOf } from './account.ts'
import { pathOf, withControl } from '../admin-client.ts'
import { exampled } from '../options.ts'

interface ExportOptions {
  readonly day: string
  readonly account?: string
}

async function exportDay({ day, account }: ExportOptions): Promise<void> {
  await withControl({ command: 'requests export' }, async (control) => {
    const id = account === undefined ? undefined : await accountIdOf(control, account)
    await control.pour(pathOf('/requests.csv', { day, account: id }), process.stdout)
  })
}

export function completeRequests(command: Command): void {
  exampled(
    command.command('export'),
    'requests export --day 2026-11-21 > requests-2026-11-21.csv',
    'requests export --day 2026-11-21 --account ann@example.com',
  )
    .description('write the requests of one day as CSV')
    .requiredOption('--day <date>', 'the day, in UTC')
    .option('--account <account>', "only this account's; its id or e-mail address")
    .action(exportDay)
}
