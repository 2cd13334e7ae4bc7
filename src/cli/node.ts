/** `sluice node`: the nodes of a cluster, and the end of one that will not come back. */

import type { Command } from 'commander'
import { withControl } from './admin-client.ts'
import { finished } from './options.ts'
import { fieldsOf, printResult, rowsOf, tableOf, type Format } from './output.ts'

async function list(format: Format): Promise<void> {
  const answer = await withControl({ command: 'node list' }, (control) => control.call('GET', '/nodes'))
  printResult(answer, format, () =>
    tableOf(
      ['ID', 'MACHINE', 'VERSION', 'STATE', 'STARTED', 'LAST SEEN', 'OPEN HOLDS'],
      rowsOf(answer).map((node) =>
        ['id', 'name', 'version', 'state', 'started_at', 'seen_at', 'open_holds'].map((name) => node[name]),
      ),
    ),
  )
}

async function retire(node: string, format: Format): Promise<void> {
  const answer = await withControl({ command: 'node retire' }, (control) =>
    control.call('POST', `/nodes/${encodeURIComponent(node)}/retire`),
  )
  const settled = String(fieldsOf(answer)['settled'])
  printResult(answer, format, () => `Node ${node} is retired; ${settled} of its requests were settled.`)
}

export function completeNode(command: Command): void {
  finished(command.command('list'), 'node list').description('list the nodes').action(list)
  finished(command.command('retire').argument('<node>', "the node's id"), 'node retire node_…')
    .description('give up a node: its requests are charged at the last marks it has uploaded')
    .addHelpText(
      'after',
      '\nA node that is silent for 15 minutes is retired by itself. One that comes back joins again.',
    )
    .action(retire)
}
