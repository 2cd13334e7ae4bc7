/** `sluice upstream …`: the places that serve models. */

import { Option, type Command } from 'commander'
import { listAll, withControl } from './admin-client.ts'
import { credentialOf, finished, given, wholeNumber, type SecretOptions } from './options.ts'
import { completeCredentials } from './commands/upstream-credentials.ts'
import { CommandError, fieldsOf, printResult, tableOf, type Format } from './output.ts'

interface AddOptions extends Format, SecretOptions {
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
  const credential = await credentialOf(options, command.getOptionValueSource('credential'))
  const { provider, baseUrl, priority, weight, onAbort } = options
  const timeouts = given({
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
  const upstream = await withControl({ command: 'upstream add', create: true }, (control) =>
    control.call('POST', '/upstreams', body),
  )
  const id = String(fieldsOf(upstream)['id'])
  printResult(
    upstream,
    options,
    () => `Upstream ${id} (${name}) is added. Try it: sluice upstream test ${name}`,
  )
}

async function list(format: Format): Promise<void> {
  const data = await withControl({ command: 'upstream list' }, (control) => listAll(control, '/upstreams'))
  printResult({ data, next: null }, format, () =>
    tableOf(
      ['ID', 'NAME', 'PROVIDER', 'ADDRESS', 'PRIORITY', 'WEIGHT', 'ENABLED'],
      data.map((each) => [
        each['id'],
        each['name'],
        each['provider'],
        each['base_url'],
        each['priority'],
        each['weight'],
        each['enabled'],
      ]),
    ),
  )
}

async function tryOut(upstream: string, options: Format & { readonly model?: string }): Promise<void> {
  const trial = await withControl({ command: 'upstream test' }, async (control) => {
    const path = `/upstreams/${encodeURIComponent(upstream)}/test`
    return fieldsOf(await control.call('POST', path, given({ model: options.model }) ?? {}))
  })
  const message = String(trial['message'])
  printResult(trial, options, () => (trial['ok'] === true ? `${upstream}: ${message}` : ''))
  if (trial['ok'] !== true) throw new CommandError(`${upstream} does not answer as it should: ${message}`)
}

async function fetchModels(upstream: string, options: Format): Promise<void> {
  const told = await withControl({ command: 'upstream models' }, async (control) => {
    return fieldsOf(await control.call('POST', `/upstreams/${encodeURIComponent(upstream)}/fetch-models`, {}))
  })
  const { models } = told
  printResult(told, options, () => (Array.isArray(models) ? models.join('\n') : ''))
  if (told['ok'] !== true) throw new CommandError(`${upstream}: ${String(told['message'])}`)
}

async function setEnabled(upstream: string, enabled: boolean, format: Format): Promise<void> {
  const changed = await withControl({ command: 'upstream' }, (control) =>
    control.call('PATCH', `/upstreams/${encodeURIComponent(upstream)}`, { enabled }),
  )
  printResult(changed, format, () => `Upstream ${upstream} is ${enabled ? 'enabled' : 'disabled'}.`)
}

async function remove(upstream: string, format: Format): Promise<void> {
  await withControl({ command: 'upstream remove' }, (control) =>
    control.call('DELETE', `/upstreams/${encodeURIComponent(upstream)}`),
  )
  printResult({ id: upstream, deleted: true }, format, () => `Upstream ${upstream} is removed.`)
}

const upstreamWords = "the upstream's id or name"

function completeAdd(command: Command): void {
  finished(
    command.argument('<name>', 'to tell it from others'),
    'upstream add deepseek --provider deepseek --credential-stdin < key.txt',
    'upstream add mine --provider vllm --base-url http://10.0.0.5:8000/v1 --no-credential',
  )
    .description('add an upstream')
    .requiredOption('--provider <name>', 'openai, openai-compatible, anthropic, deepseek, qwen …')
    .option('--base-url <url>', 'as a client would be given it, with its version; else the provider’s own')
    .option('--credential-file <path>', 'read the credential from a file')
    .option('--credential-stdin', 'read the credential from standard input')
    .addOption(new Option('--credential <text>').env('UPSTREAM_CREDENTIAL').hideHelp())
    .option('--no-credential', 'the upstream asks for none')
    .option('--priority <number>', 'lower is tried first', wholeNumber)
    .option('--weight <number>', 'share among equals of one priority', wholeNumber)
    .option('--on-abort <what>', 'cancel or drain when the caller leaves')
    .option('--connect-ms <ms>', 'time-out of connecting', wholeNumber)
    .option('--first-token-ms <ms>', "time-out of a stream's first token", wholeNumber)
    .option('--idle-ms <ms>', 'time-out of a silent stream', wholeNumber)
    .option('--answer-ms <ms>', 'time-out of a whole answer', wholeNumber)
    .option('--health-check-ms <ms>', 'check it when nobody has asked it for so long', wholeNumber)
    .option('--disabled', 'not used until it is enabled')
    .addHelpText('after', '\nThe credential may also stand in the environment, as UPSTREAM_CREDENTIAL.')
    .action(add)
}

export function completeUpstream(command: Command): void {
  completeAdd(command.command('add'))
  completeCredentials(command)
  finished(command.command('list'), 'upstream list').description('list upstreams').action(list)
  finished(
    command.command('test').argument('<upstream>', upstreamWords),
    'upstream test deepseek --model deepseek-chat',
  )
    .description('make one real, cheap call')
    .option('--model <name>', "the upstream's name of the model to call")
    .action(tryOut)
  finished(command.command('models').argument('<upstream>', upstreamWords), 'upstream models deepseek')
    .description('ask an upstream which models it has')
    .action(fetchModels)
  finished(command.command('enable').argument('<upstream>', upstreamWords), 'upstream enable deepseek')
    .description('use an upstream')
    .action((upstream: string, format: Format) => setEnabled(upstream, true, format))
  finished(command.command('disable').argument('<upstream>', upstreamWords), 'upstream disable deepseek')
    .description('do not use an upstream until it is enabled again')
    .action((upstream: string, format: Format) => setEnabled(upstream, false, format))
  finished(command.command('remove').argument('<upstream>', upstreamWords), 'upstream remove deepseek')
    .description('remove an upstream to which no model is routed')
    .action(remove)
}
