/** `sluice upstream …`: the upstreams that serve models. */

import { Option, type Command } from 'commander'
import { listAll, withAdminClient } from '../admin-client.ts'
import {
  readCredential,
  withJsonOption,
  omitUndefined,
  parseInteger,
  type CredentialOptions,
} from '../options.ts'
import { configureCredentials } from './upstream-credentials.ts'
import { CommandError, asFields, printResult, formatTable, type OutputOptions } from '../output.ts'

interface AddOptions extends OutputOptions, CredentialOptions {
  readonly provider: string
  readonly baseUrl?: string
  readonly priority?: number
  readonly weight?: number
  readonly onAbort?: string
  readonly connectMs?: number
  readonly firstTokenMs?: number
  readonly idleMs?: number
  readonly answerMs?: number
  readonly disabled?: boolean
  readonly healthCheckMs?: number
}

async function add(name: string, options: AddOptions, command: Command): Promise<void> {
  const credential = await readCredential(options, command.getOptionValueSource('credential'))
  const { provider, baseUrl, priority, weight, onAbort } = options
  const timeouts = omitUndefined({
    connect_ms: options.connectMs,
    first_token_ms: options.firstTokenMs,
    idle_ms: options.idleMs,
    answer_ms: options.answerMs,
  })
  const enabled = options.disabled === true ? false : undefined
  const body = {
    name,
    provider,
    base_url: baseUrl,
    credential,
    priority,
    weight,
    timeouts,
    on_abort: onAbort,
    health_check_ms: options.healthCheckMs,
    enabled,
  }
  const upstream = await withAdminClient({ command: 'upstream add' }, (client) =>
    client.call('POST', '/upstreams', body),
  )
  const id = String(asFields(upstream)['id'])
  printResult(
    upstream,
    options,
    () => `Added upstream ${id} (${name}). Test it: sluice upstream test ${name}`,
  )
}

async function list(format: OutputOptions): Promise<void> {
  const data = await withAdminClient({ command: 'upstream list' }, (client) => listAll(client, '/upstreams'))
  printResult({ data, next: null }, format, () =>
    formatTable(
      ['ID', 'NAME', 'PROVIDER', 'ADDRESS', 'PRIORITY', 'WEIGHT', 'ENABLED'],
      data.map((row) => [
        row['id'],
        row['name'],
        row['provider'],
        row['base_url'],
        row['priority'],
        row['weight'],
        row['enabled'],
      ]),
    ),
  )
}

async function testUpstream(
  upstream: string,
  options: OutputOptions & { readonly model?: string },
): Promise<void> {
  const result = await withAdminClient({ command: 'upstream test' }, async (client) => {
    const path = `/upstreams/${encodeURIComponent(upstream)}/test`
    return asFields(await client.call('POST', path, omitUndefined({ model: options.model }) ?? {}))
  })
  const message = String(result['message'])
  printResult(result, options, () => (result['ok'] === true ? `${upstream}: ${message}` : ''))
  if (result['ok'] !== true) throw new CommandError(`${upstream} failed the test: ${message}`)
}

async function fetchModels(upstream: string, options: OutputOptions): Promise<void> {
  const text = await withAdminClient({ command: 'upstream models' }, async (client) => {
    return asFields(await client.call('POST', `/upstreams/${encodeURIComponent(upstream)}/fetch-models`, {}))
  })
  const { models } = text
  printResult(text, options, () => (Array.isArray(models) ? models.join('\n') : ''))
  if (text['ok'] !== true) throw new CommandError(`${upstream}: ${String(text['message'])}`)
}

async function setEnabled(upstream: string, enabled: boolean, format: OutputOptions): Promise<void> {
  const changed = await withAdminClient({ command: 'upstream' }, (client) =>
    client.call('PATCH', `/upstreams/${encodeURIComponent(upstream)}`, { enabled }),
  )
  printResult(changed, format, () => `Upstream ${upstream} is ${enabled ? 'enabled' : 'disabled'}.`)
}

async function remove(upstream: string, format: OutputOptions): Promise<void> {
  await withAdminClient({ command: 'upstream remove' }, (client) =>
    client.call('DELETE', `/upstreams/${encodeURIComponent(upstream)}`),
  )
  printResult({ id: upstream, deleted: true }, format, () => `Removed upstream ${upstream}.`)
}

const upstreamHelp = "the upstream's id or name"

function configureAdd(command: Command): void {
  withJsonOption(
    command.argument('<name>', 'name of the upstream'),
    'upstream add deepseek --provider deepseek --credential-stdin < key.txt',
    'upstream add mine --provider vllm --base-url http://10.0.0.5:8000/v1 --no-credential',
  )
    .description('add an upstream')
    .requiredOption('--provider <name>', 'openai, openai-compatible, anthropic, deepseek, qwen …')
    .option('--base-url <url>', "base URL including the version; default: the provider's")
    .option('--credential-file <path>', 'read the credential from a file')
    .option('--credential-stdin', 'read the credential from standard input')
    .addOption(new Option('--credential <text>').env('UPSTREAM_CREDENTIAL').hideHelp())
    .option('--no-credential', 'the upstream requires no credential')
    .option('--priority <number>', 'lower is tried first', parseInteger)
    .option('--weight <number>', 'share among upstreams of the same priority', parseInteger)
    .option('--on-abort <what>', 'cancel or drain the response if the caller disconnects')
    .option('--connect-ms <ms>', 'connect timeout', parseInteger)
    .option('--first-token-ms <ms>', "timeout for a stream's first token", parseInteger)
    .option('--idle-ms <ms>', 'timeout between events of a stream', parseInteger)
    .option('--answer-ms <ms>', 'timeout for a non-streaming response', parseInteger)
    .option('--health-check-ms <ms>', 'check its health after this time without requests', parseInteger)
    .option('--disabled', 'do not use it until it is enabled')
    .addHelpText('after', '\nThe credential can also be set in the environment, as UPSTREAM_CREDENTIAL.')
    .action(add)
}

export function configureUpstream(command: Command): void {
  configureAdd(command.command('add'))
  configureCredentials(command)
  withJsonOption(command.command('list'), 'upstream list').description('list upstreams').action(list)
  withJsonOption(
    command.command('test').argument('<upstream>', upstreamHelp),
    'upstream test deepseek --model deepseek-chat',
  )
    .description('send one real, cheap request')
    .option('--model <name>', "the upstream's name of the model")
    .action(testUpstream)
  withJsonOption(command.command('models').argument('<upstream>', upstreamHelp), 'upstream models deepseek')
    .description('list the models that an upstream offers')
    .action(fetchModels)
  withJsonOption(command.command('enable').argument('<upstream>', upstreamHelp), 'upstream enable deepseek')
    .description('enable an upstream')
    .action((upstream: string, format: OutputOptions) => setEnabled(upstream, true, format))
  withJsonOption(command.command('disable').argument('<upstream>', upstreamHelp), 'upstream disable deepseek')
    .description('stop using an upstream until it is enabled again')
    .action((upstream: string, format: OutputOptions) => setEnabled(upstream, false, format))
  withJsonOption(command.command('remove').argument('<upstream>', upstreamHelp), 'upstream remove deepseek')
    .description('remove an upstream that no route uses')
    .action(remove)
}
