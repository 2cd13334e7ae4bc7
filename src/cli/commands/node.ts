/** `sluice node …`: the nodes of a cluster. */

import type { Command } from 'commander'
import { withAdminClient } from '../admin-client.ts'
import { withJsonOption } from '../options.ts'
import { asFields, printResult, rowsIn, formatTable, type OutputOptions } from '../output.ts'

async function list(format: OutputOptions): Promise<void> {
  const response = await withAdminClient({ command: 'node list' }, (client) => client.call('GET', '/nodes'))
  printResult(response, format, () =>
    formatTable(
      ['ID', 'MACHINE', 'VERSION', 'STATE', 'STARTED', 'LAST SEEN', 'OPEN HOLDS'],
      rowsIn(response).map((node) =>
        ['id', 'name', 'version', 'state', 'started_at', 'seen_at', 'open_holds'].map((name) => node[name]),
      ),
    ),
  )
}

async function retire(node: string, format: OutputOptions): Promise<void> {
  const response = await withAdminClient({ command: 'node retire' }, (client) =>
    client.call('POST', `/nodes/${encodeURIComponent(node)}/retire`),
  )
  const settled = String(asFields(response)['settled'])
  printResult(response, format, () => `Retired node ${node}. Requests settled: ${settled}.`)
}

export function configureNode(command: Command): void {
  withJsonOption(command.command('list'), 'node list').description('list the nodes').action(list)
  withJsonOption(command.command('retire').argument('<node>', "the node's id"), 'node retire node_…')
    .description('retire a lost node and charge its requests by the last marks that it uploaded')
    .addHelpText(
      'after',
      '\nA node that is silent for 15 minutes is retired automatically. A retired node that returns joins again.',
    )
    .action(retire)
}
