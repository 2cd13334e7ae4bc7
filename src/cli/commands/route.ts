/** `sluice route`: which upstreams would serve a model, in which order, and why. Sends no request. */

import type { Command } from 'commander'
import { withQuery, send } from '../admin-client.ts'
import { withJsonOption } from '../options.ts'
import {
  CommandError,
  asFields,
  formatRows,
  printResult,
  type Fields,
  type OutputOptions,
} from '../output.ts'

interface RouteOptions extends OutputOptions {
  readonly model: string
  readonly key?: string
}

function planRows(rows: unknown): Fields[] {
  return Array.isArray(rows) ? rows.map(asFields) : []
}

const columns = {
  ORDER: 'order',
  UPSTREAM: 'name',
  MODEL: 'model',
  'UPSTREAM MODEL': 'upstream_model',
  STATE: 'state',
  WHY: 'why',
}

function formatPlan(plan: Fields): string {
  const leftOut = planRows(plan['left_out']).map((row) => ({ ...row, name: row['upstream'] }))
  return formatRows([...planRows(plan['steps']), ...leftOut], columns)
}

async function route(options: RouteOptions): Promise<void> {
  const path = withQuery(`/models/${encodeURIComponent(options.model)}/route`, { key: options.key })
  const plan = await send('route', 'GET', path)
  printResult(plan, options, () => formatPlan(plan))
  if (plan['callable'] !== true) throw new CommandError(String(plan['why']))
}

export function configure(command: Command): void {
  withJsonOption(command, 'route --model family-a-small', 'route --model family-a-small --key key_01… --json')
    .requiredOption('--model <id>', 'model id')
    .option('--key <id>', 'id of the calling key')
    .addHelpText('after', "\nOnly a running relay knows the upstreams' health.")
    .action(route)
}
