/** `sluice upstream health` and `sluice upstream credential…`. */

import { Option, type Command } from 'commander'
import { listAll, withAdminClient } from '../admin-client.ts'
import {
  readCredential,
  withJsonOption,
  omitUndefined,
  parseInteger,
  type CredentialOptions,
} from '../options.ts'
import { asFields, printResult, formatTable, type OutputOptions } from '../output.ts'

interface AddOptions extends OutputOptions, CredentialOptions {
  readonly label?: string
  readonly weight?: number
}

function pathTo(upstream: string): string {
  return `/upstreams/${encodeURIComponent(upstream)}/credentials`
}

async function health(format: OutputOptions): Promise<void> {
  const data = await withAdminClient({ command: 'upstream health' }, (client) =>
    listAll(client, '/upstreams/health'),
  )
  printResult({ data, next: null }, format, () =>
    formatTable(
      ['UPSTREAM', 'MODEL', 'STATE', 'SINCE', 'REQUESTS', 'ERRORS', 'LATENCY MS', 'WHY'],
      data.map((row) => [
        row['name'],
        row['model'],
        row['state'],
        row['since'],
        row['requests'],
        `${Math.round(Number(row['error_rate']) * 100)}%`,
        row['latency_ms'],
        row['why'],
      ]),
    ),
  )
}

async function add(upstream: string, options: AddOptions, command: Command): Promise<void> {
  const credential = await readCredential(options, command.getOptionValueSource('credential'))
  const body = { credential, ...omitUndefined({ label: options.label, weight: options.weight }) }
  const added = await withAdminClient({ command: 'upstream credential-add' }, (client) =>
    client.call('POST', pathTo(upstream), body),
  )
  printResult(added, options, () => `Added credential ${String(asFields(added)['id'])} to ${upstream}.`)
}

async function list(upstream: string, format: OutputOptions): Promise<void> {
  const data = await withAdminClient({ command: 'upstream credentials' }, (client) =>
    listAll(client, pathTo(upstream)),
  )
  printResult({ data, next: null }, format, () =>
    formatTable(
      ['ID', 'LABEL', 'LAST FOUR', 'WEIGHT', 'ENABLED'],
      data.map((row) => [row['id'], row['label'], row['last_four'], row['weight'], row['enabled']]),
    ),
  )
}

async function remove(upstream: string, id: string, format: OutputOptions): Promise<void> {
  await withAdminClient({ command: 'upstream credential-remove' }, (client) =>
    client.call('DELETE', `${pathTo(upstream)}/${encodeURIComponent(id)}`),
  )
  printResult({ id, deleted: true }, format, () => `Removed credential ${id} from ${upstream}.`)
}

const upstreamHelp = "the upstream's id or name"

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
  withJsonOption(
    command.command('credential-add').argument('<upstream>', upstreamHelp),
    'upstream credential-add deepseek --label second --credential-stdin < key.txt',
  )
    .description('add a credential; requests are distributed over all of them')
    .option('--label <text>', 'label of the credential')
    .option('--weight <number>', "its share; the upstream's first credential has 1", parseInteger)
    .option('--credential-file <path>', 'read the credential from a file')
    .option('--credential-stdin', 'read the credential from standard input')
    .addOption(new Option('--credential <text>').env('UPSTREAM_CREDENTIAL').hideHelp())
    .action(add)
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
