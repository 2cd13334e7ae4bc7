/** `sluice route`: which upstreams would serve a model, in which order, and why. Sends no request. */

import type { Command } from 'commander'
import { withQuery, withAdminClient } from '../admin-client.ts'
import { withJsonOption } from '../options.ts'
import {
  CommandError,
  asFields,
  printResult,
  formatTable,
  type Fields,
  type OutputOptions,
} from '../output.ts'

interface RouteOptions extends OutputOptions {
  readonly model: string
  readonly key?: string
}

function planRows(plan: Fields, name: string): Fields[] {
  const rows = plan[name]
  return Array.isArray(rows) ? rows.map(asFields) : []
}

function formatPlan(plan: Fields): string {
  const steps = planRows(plan, 'steps').map((step) => [
    step['order'],
    step['name'],
    step['model'],
    step['upstream_model'],
    step['state'],
    step['why'],
  ])
  const leftOut = planRows(plan, 'left_out').map((row) => [
    '-',
    row['upstream'],
    row['model'],
    '-',
    '-',
    row['why'],
  ])
  return formatTable(['ORDER', 'UPSTREAM', 'MODEL', 'UPSTREAM MODEL', 'STATE', 'WHY'], [...steps, ...leftOut])
}

async function route(options: RouteOptions): Promise<void> {
  const path = withQuery(`/models/${encodeURIComponent(options.model)}/route`, { key: options.key })
  const plan = asFields(await withAdminClient({ command: 'route' }, (client) => client.call('GET', path)))
  printResult(plan, options, () => formatPlan(plan))
  if (plan['callable'] !== true) throw new CommandError(String(plan['why']))
}

export function configureRoute(command: Command): void {
  withJsonOption(command, 'route --model family-a-small', 'route --model family-a-small --key key_01… --json')
    .requiredOption('--model <id>', 'model id')
    .option('--key <id>', 'id of the calling key')
    .addHelpText('after', "\nOnly a running relay knows the upstreams' health.")
    .action(route)
}
