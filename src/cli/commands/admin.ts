/** `sluice admin …`: operators. */

import type { Command } from 'commander'
import { withAdminClient } from '../admin-client.ts'
import { withJsonOption } from '../options.ts'
import { asFields, printResult, type OutputOptions } from '../output.ts'

async function link({ json }: OutputOptions): Promise<void> {
  const result = asFields(
    await withAdminClient({ command: 'admin link' }, (client) => client.call('POST', '/operators/link')),
  )
  const [url, until] = [String(result['url']), String(result['expires_at'])]
  printResult(
    result,
    { json },
    () => `Open this one-time link before ${until} to become an operator:\n\n  ${url}`,
  )
}

export function configureAdmin(command: Command): void {
  withJsonOption(command.command('link'), 'admin link')
    .description('create a one-time link for a new operator')
    .action(link)
}
