/** `sluice requests …`: exports requests. */

import type { Command } from 'commander'
import { resolveAccountId } from './account.ts'
import { withQuery, withAdminClient } from '../admin-client.ts'
import { withExamples } from '../options.ts'

type ExportOptions = Readonly<Record<string, string | undefined>>

async function exportRequests({ account, ...filters }: ExportOptions): Promise<void> {
  await withAdminClient('requests export', async (client) => {
    const id = account === undefined ? undefined : await resolveAccountId(client, account)
    await client.stream(withQuery('/requests.csv', { ...filters, account: id }), process.stdout)
  })
}

export function configure(command: Command): void {
  withExamples(
    command.command('export'),
    'requests export --day 2026-11-21 > requests-2026-11-21.csv',
    'requests export --day 2026-11-21 --account ann@example.com',
    'requests export --from 2026-11-01T00:00:00+08:00 --model gpt-5.2 --outcome failed',
  )
    .description('export requests as CSV, newest first; without options, all of them')
    .option('--day <date>', 'only requests of this day, in UTC')
    .option('--from <time>', 'only requests at or after this time, such as 2026-11-21T08:00:00Z')
    .option('--to <time>', 'only requests before this time')
    .option('--account <account>', 'only requests of this account (id or e-mail address)')
    .option('--key <id>', 'only requests with this key')
    .option('--model <model>', 'only requests for this model')
    .option('--outcome <outcome>', 'only ok, refused, failed, truncated, aborted or ended requests')
    .option('--operation <operation>', 'only requests for this, such as chat, messages or embeddings')
    .action(exportRequests)
}
