/** `sluice upstream health` and `sluice upstream credential…`. */

import type { Command } from 'commander'
import { printList, send } from '../admin-client.ts'
import {
  readCredential,
  withCredential,
  withJsonOption,
  parseInteger,
  type CredentialOptions,
} from '../options.ts'
import { printResult, type Fields, type OutputOptions } from '../output.ts'

interface AddOptions extends OutputOptions, CredentialOptions {
  readonly label?: string
  readonly weight?: number
}

function pathTo(upstream: string): string {
  return `/upstreams/${encodeURIComponent(upstream)}/credentials`
}

const healthColumns = {
  UPSTREAM: 'name',
  MODEL: 'model',
  STATE: 'state',
  SINCE: 'since',
  REQUESTS: 'requests',
  ERRORS: (row: Fields) => `${Math.round(Number(row['error_rate']) * 100)}%`,
  'LATENCY MS': 'latency_ms',
  WHY: 'why',
}

function health(format: OutputOptions): Promise<void> {
  return printList({ command: 'upstream health', path: '/upstreams/health' }, healthColumns, format)
}

async function add(upstream: string, options: AddOptions, command: Command): Promise<void> {
  const { label, weight } = options
  const credential = await readCredential(options, command.getOptionValueSource('credential'))
  const body = { credential, label, weight }
  const added = await send('upstream credential-add', 'POST', pathTo(upstream), body)
  printResult(added, options, () => `Added credential ${String(added['id'])} to ${upstream}.`)
}

const columns = { ID: 'id', LABEL: 'label', 'LAST FOUR': 'last_four', WEIGHT: 'weight', ENABLED: 'enabled' }

function list(upstream: string, format: OutputOptions): Promise<void> {
  return printList({ command: 'upstream credentials', path: pathTo(upstream) }, columns, format)
}

async function remove(upstream: string, id: string, format: OutputOptions): Promise<void> {
  await send('upstream credential-remove', 'DELETE', `${pathTo(upstream)}/${encodeURIComponent(id)}`)
  printResult({ id, deleted: true }, format, () => `Removed credential ${id} from ${upstream}.`)
}

export const upstreamHelp = "the upstream's id or name"

export function configureCredentials(command: Command): void {
  withJsonOption(command.command('health'), 'upstream health')
    .description('show the health of each upstream by model')
    .action(health)
  withJsonOption(
    command.command('credentials').argument('<upstream>', upstreamHelp),
    'upstream credentials deepseek',
  )
    .description('list the credentials of an upstream')
    .action(list)
  const addCommand = command.command('credential-add').argument('<upstream>', upstreamHelp)
  withJsonOption(addCommand, 'upstream credential-add deepseek --label second --credential-stdin < key.txt')
    .description('add a credential; requests are distributed over all of them')
    .option('--label <text>', 'label of the credential')
    .option('--weight <number>', "its share; the upstream's first credential has 1", parseInteger)
  withCredential(addCommand).action(add)
  withJsonOption(
    command
      .command('credential-remove')
      .argument('<upstream>', upstreamHelp)
      .argument('<id>', "the credential's id"),
    'upstream credential-remove deepseek crd_01…',
  )
    .description('remove a credential')
    .action(remove)
}
