/** `sluice route`: which upstreams would be asked for a model, in which order, and why. Nothing is called. */

import type { Command } from 'commander'
import { pathOf, withControl } from './admin-client.ts'
import { finished } from './options.ts'
import { CommandError, fieldsOf, printResult, tableOf, type Fields, type Format } from './output.ts'

interface RouteOptions extends Format {
  readonly model: string
  readonly key?: string
}

function rowsIn(plan: Fields, name: string): Fields[] {
  const rows = plan[name]
  return Array.isArray(rows) ? rows.map(fieldsOf) : []
}

function words(plan: Fields): string {
  const steps = rowsIn(plan, 'steps').map((step) => [
    step['order'],
    step['name'],
    step['model'],
    step['upstream_model'],
    step['state'],
    step['why'],
  ])
  const leftOut = rowsIn(plan, 'left_out').map((each) => [
    '-',
    each['upstream'],
    each['model'],
    '-',
    '-',
    each['why'],
  ])
  return tableOf(['ORDER', 'UPSTREAM', 'MODEL', 'MODEL THERE', 'STATE', 'WHY'], [...steps, ...leftOut])
}

async function route(options: RouteOptions): Promise<void> {
  const path = pathOf(`/models/${encodeURIComponent(options.model)}/route`, { key: options.key })
  const plan = fieldsOf(await withControl({ command: 'route' }, (control) => control.call('GET', path)))
  printResult(plan, options, () => words(plan))
  if (plan['callable'] !== true) throw new CommandError(String(plan['why']))
}

export function completeRoute(command: Command): void {
  finished(command, 'route --model family-a-small', 'route --model family-a-small --key key_01… --json')
    .requiredOption('--model <id>', 'as callers name it')
    .option('--key <id>', 'the id of the key that asks')
    .addHelpText(
      'after',
      '\nWhat is known of upstreams is known to the running relay; without one, nothing is.',
    )
    .action(route)
}
