/** `sluice admin …`: operators. */

import type { Command } from 'commander'
import { send } from '../admin-client.ts'
import { withJsonOption } from '../options.ts'
import { printResult, type OutputOptions } from '../output.ts'

async function link(format: OutputOptions): Promise<void> {
  const result = await send('admin link', 'POST', '/operators/link')
  const [url, until] = [String(result['url']), String(result['expires_at'])]
  const text = `Open this one-time link before ${until} to become an operator:\n\n  ${url}`
  printResult(result, format, () => text)
}

export function configure(command: Command): void {
  withJsonOption(command.command('link'), 'admin link')
    .description('create a one-time link for a new operator')
    .action(link)
}
