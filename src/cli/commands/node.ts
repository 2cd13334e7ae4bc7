/** `sluice node …`: the nodes of a cluster. */

import type { Command } from 'commander'
import { send } from '../admin-client.ts'
import { withJsonOption } from '../options.ts'
import { formatRows, printResult, rowsIn, type OutputOptions } from '../output.ts'

const columns = {
  ID: 'id',
  MACHINE: 'name',
  ADDRESS: 'address',
  VERSION: 'version',
  STATE: 'state',
  STARTED: 'started_at',
  'LAST SEEN': 'seen_at',
  'OPEN HOLDS': 'open_holds',
  'THIS NODE': 'self',
}

async function list(format: OutputOptions): Promise<void> {
  const response = await send('node list', 'GET', '/nodes')
  printResult(response, format, () => formatRows(rowsIn(response), columns))
}

async function retire(node: string, format: OutputOptions): Promise<void> {
  const response = await send('node retire', 'POST', `/nodes/${encodeURIComponent(node)}/retire`)
  const settled = String(response['settled'])
  printResult(response, format, () => `Retired node ${node}. Requests settled: ${settled}.`)
}

export function configure(command: Command): void {
  withJsonOption(command.command('list'), 'node list').description('list the nodes').action(list)
  withJsonOption(command.command('retire').argument('<node>', "the node's id"), 'node retire node_…')
    .description('retire a lost node and charge its requests by the last marks that it uploaded')
    .addHelpText(
      'after',
      '\nA node that is silent for 15 minutes is retired automatically. A retired node that returns joins again.',
    )
    .action(retire)
}
