/** `sluice upstream …`: the upstreams that serve models. */

import type { Command } from 'commander'
import { printList, send } from '../admin-client.ts'
import {
  bodyFrom,
  readCredential,
  withCredential,
  withJsonOption,
  parseInteger,
  parseList,
  parseObject,
  parseObjectFile,
  type CredentialOptions,
} from '../options.ts'
import { configureCredentials, upstreamHelp } from './upstream-credentials.ts'
import { CommandError, printResult, type OutputOptions } from '../output.ts'

interface AddOptions extends OutputOptions, CredentialOptions {
  readonly disabled?: boolean
}

const newUpstreamFields = {
  provider: 'provider',
  baseUrl: 'base_url',
  priority: 'priority',
  weight: 'weight',
  onAbort: 'on_abort',
  collectStream: 'collect_stream',
  speaks: 'speaks',
  maxTokensField: 'max_tokens_field',
  allowedFields: 'allowed_fields',
  headersFile: 'headers',
  body: 'body',
  healthCheckMs: 'health_check_ms',
  connectMs: 'timeouts.connect_ms',
  firstTokenMs: 'timeouts.first_token_ms',
  idleMs: 'timeouts.idle_ms',
  answerMs: 'timeouts.answer_ms',
} as const

const pathTo = (upstream: string): string => `/upstreams/${encodeURIComponent(upstream)}`

async function add(name: string, options: AddOptions, command: Command): Promise<void> {
  const credential = await readCredential(options, command.getOptionValueSource('credential'))
  const enabled = options.disabled === true ? false : undefined
  const body = { name, credential, enabled, ...bodyFrom(options, newUpstreamFields) }
  const upstream = await send('upstream add', 'POST', '/upstreams', body)
  const text = `Added upstream ${String(upstream['id'])} (${name}). Test it: sluice upstream test ${name}`
  printResult(upstream, options, () => text)
}

const columns = {
  ID: 'id',
  NAME: 'name',
  PROVIDER: 'provider',
  ADDRESS: 'base_url',
  PRIORITY: 'priority',
  WEIGHT: 'weight',
  ENABLED: 'enabled',
}

function list(format: OutputOptions): Promise<void> {
  return printList({ command: 'upstream list', path: '/upstreams' }, columns, format)
}

async function testUpstream(
  upstream: string,
  { model, ...format }: OutputOptions & { readonly model?: string },
): Promise<void> {
  const result = await send('upstream test', 'POST', `${pathTo(upstream)}/test`, { model })
  const message = String(result['message'])
  printResult(result, format, () => (result['ok'] === true ? `${upstream}: ${message}` : ''))
  if (result['ok'] !== true) throw new CommandError(`${upstream} failed the test: ${message}`)
}

async function fetchModels(upstream: string, format: OutputOptions): Promise<void> {
  const result = await send('upstream models', 'POST', `${pathTo(upstream)}/fetch-models`, {})
  const { models } = result
  printResult(result, format, () => (Array.isArray(models) ? models.join('\n') : ''))
  if (result['ok'] !== true) throw new CommandError(`${upstream}: ${String(result['message'])}`)
}

async function setEnabled(upstream: string, enabled: boolean, format: OutputOptions): Promise<void> {
  const changed = await send('upstream', 'PATCH', pathTo(upstream), { enabled })
  printResult(changed, format, () => `Upstream ${upstream} is ${enabled ? 'enabled' : 'disabled'}.`)
}

async function remove(upstream: string, format: OutputOptions): Promise<void> {
  await send('upstream remove', 'DELETE', pathTo(upstream))
  printResult({ id: upstream, deleted: true }, format, () => `Removed upstream ${upstream}.`)
}

function configureAdd(command: Command): void {
  const described = withJsonOption(
    command.argument('<name>', 'name of the upstream'),
    'upstream add deepseek --provider deepseek --credential-stdin < key.txt',
    'upstream add mine --provider vllm --base-url http://10.0.0.5:8000/v1 --no-credential',
  )
    .description('add an upstream')
    .requiredOption('--provider <name>', 'openai, openai-compatible, anthropic, deepseek, qwen …')
    .option('--base-url <url>', "base URL including the version; default: the provider's")
  withCredential(described)
    .option('--no-credential', 'the upstream requires no credential')
    .option('--priority <number>', 'lower is tried first', parseInteger)
    .option('--weight <number>', 'share among upstreams of the same priority', parseInteger)
    .option('--on-abort <what>', 'cancel or drain the response if the caller disconnects')
    .option('--speaks <apis>', 'APIs besides chat completions, e.g. responses', parseList)
    .option('--collect-stream', 'ask for non-streaming responses as streams and collect them')
    .option('--max-tokens-field <name>', 'field for the maximum of output tokens if the relay chooses it')
    .option(
      '--allowed-fields <names>',
      'restricted fields that callers may send, e.g. service_tier',
      parseList,
    )
    .option('--headers-file <path>', 'headers to add to every request: a JSON object', parseObjectFile)
    .option('--body <json>', 'fields to add to every request where they are absent', (value: string) =>
      parseObject(value, '{"provider": {"sort": "price"}}'),
    )
    .option('--connect-ms <ms>', 'connect timeout', parseInteger)
    .option('--first-token-ms <ms>', "timeout for a stream's first token", parseInteger)
    .option('--idle-ms <ms>', 'timeout between events of a stream', parseInteger)
    .option('--answer-ms <ms>', 'timeout for a non-streaming response', parseInteger)
    .option('--health-check-ms <ms>', 'check its health after this time without requests', parseInteger)
    .option('--disabled', 'do not use it until it is enabled')
    .addHelpText('after', '\nThe credential can also be set in the environment, as UPSTREAM_CREDENTIAL.')
    .action(add)
}

export function configure(command: Command): void {
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
