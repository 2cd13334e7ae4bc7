/** `sluice requests …`: exports requests. */

import type { Command } from 'commander'
import { resolveAccountId } from './account.ts'
import { withQuery, withAdminClient } from '../admin-client.ts'
import { withExamples } from '../options.ts'

interface ExportOptions {
  readonly day: string
  readonly account?: string
}

async function exportDay({ day, account }: ExportOptions): Promise<void> {
  await withAdminClient({ command: 'requests export' }, async (client) => {
    const id = account === undefined ? undefined : await resolveAccountId(client, account)
    await client.stream(withQuery('/requests.csv', { day, account: id }), process.stdout)
  })
}

export function configureRequests(command: Command): void {
  withExamples(
    command.command('export'),
    'requests export --day 2026-11-21 > requests-2026-11-21.csv',
    'requests export --day 2026-11-21 --account ann@example.com',
  )
    .description('export the requests of one day as CSV')
    .requiredOption('--day <date>', 'the day, in UTC')
    .option('--account <account>', 'only requests of this account (id or e-mail address)')
    .action(exportDay)
}
