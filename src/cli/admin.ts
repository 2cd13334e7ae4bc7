/** `sluice admin …`: who runs the relay. */

import type { Command } from 'commander'
import { withControl } from './admin-client.ts'
import { finished } from './options.ts'
import { fieldsOf, printResult, type Format } from './output.ts'

async function link({ json }: Format): Promise<void> {
  const made = fieldsOf(
    await withControl({ command: 'admin link', create: true }, (control) =>
      control.call('POST', '/operators/link'),
    ),
  )
  const [url, until] = [String(made['url']), String(made['expires_at'])]
  printResult(made, { json }, () => `Open this once, until ${until}, to become an operator:\n\n  ${url}`)
}

export function completeAdmin(command: Command): void {
  finished(command.command('link'), 'admin link')
    .description('make a one-time link by which an operator comes in')
    .action(link)
}
