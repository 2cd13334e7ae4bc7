/** `sluice upstream health` and `sluice upstream credential …`: how upstreams are, and what they are called with. */

import { Option, type Command } from 'commander'
import { listAll, withControl } from '../admin-client.ts'
import { credentialOf, finished, given, wholeNumber, type SecretOptions } from '../options.ts'
import { fieldsOf, printResult, tableOf, type Format } from '../output.ts'

interface AddOptions extends Format, SecretOptions {
  readonly label?: string
  readonly weight?: number
}

function pathTo(upstream: string): string {
  return `/upstreams/${encodeURIComponent(upstream)}/credentials`
}

async function health(format: Format): Promise<void> {
  const data = await withControl({ command: 'upstream health' }, (control) =>
    listAll(control, '/upstreams/health'),
  )
  printResult({ data, next: null }, format, () =>
    tableOf(
      ['UPSTREAM', 'MODEL', 'STATE', 'SINCE', 'REQUESTS', 'ERRORS', 'LATENCY MS', 'WHY'],
      data.map((each) => [
        each['name'],
        each['model'],
        each['state'],
        each['since'],
        each['requests'],
        `${Math.round(Number(each['error_rate']) * 100)}%`,
        each['latency_ms'],
        each['why'],
      ]),
    ),
  )
}

async function add(upstream: string, options: AddOptions, command: Command): Promise<void> {
  const credential = await credentialOf(options, command.getOptionValueSource('credential'))
  const body = { credential, ...given({ label: options.label, weight: options.weight }) }
  const added = await withControl({ command: 'upstream credential-add' }, (control) =>
    control.call('POST', pathTo(upstream), body),
  )
  printResult(added, options, () => `Credential ${String(fieldsOf(added)['id'])} of ${upstream} is added.`)
}

async function list(upstream: string, format: Format): Promise<void> {
  const data = await withControl({ command: 'upstream credentials' }, (control) =>
    listAll(control, pathTo(upstream)),
  )
  printResult({ data, next: null }, format, () =>
    tableOf(
      ['ID', 'LABEL', 'LAST FOUR', 'WEIGHT', 'ENABLED'],
      data.map((each) => [each['id'], each['label'], each['last_four'], each['weight'], each['enabled']]),
    ),
  )
}

async function remove(upstream: string, id: string, format: Format): Promise<void> {
  await withControl({ command: 'upstream credential-remove' }, (control) =>
    control.call('DELETE', `${pathTo(upstream)}/${encodeURIComponent(id)}`),
  )
  printResult({ id, deleted: true }, format, () => `Credential ${id} of ${upstream} is removed.`)
}

const upstreamWords = "the upstream's id or name"

export function completeCredentials(command: Command): void {
  finished(command.command('health'), 'upstream health')
    .description('how each upstream is, by model')
    .action(health)
  finished(
    command.command('credentials').argument('<upstream>', upstreamWords),
    'upstream credentials deepseek',
  )
    .description('list the credentials of an upstream')
    .action(list)
  finished(
    command.command('credential-add').argument('<upstream>', upstreamWords),
    'upstream credential-add deepseek --label second --credential-stdin < key.txt',
  )
    .description('add a credential; requests are spread over all of them')
    .option('--label <text>', 'to tell it from others')
    .option('--weight <number>', 'its share; the upstream’s own has 1', wholeNumber)
    .option('--credential-file <path>', 'read the credential from a file')
    .option('--credential-stdin', 'read the credential from standard input')
    .addOption(new Option('--credential <text>').env('UPSTREAM_CREDENTIAL').hideHelp())
    .action(add)
  finished(
    command
      .command('credential-remove')
      .argument('<upstream>', upstreamWords)
      .argument('<id>', "the credential's id"),
    'upstream credential-remove deepseek crd_01…',
  )
    .description('remove a credential')
    .action(remove)
}
