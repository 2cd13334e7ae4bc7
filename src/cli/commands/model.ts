/** `sluice model …`: what callers name, what it costs them, and who serves it. */

import { Option, type Command } from 'commander'
import { listAll, withControl } from '../admin-client.ts'
import { decimal, finished, given, list as listOption, wholeNumber } from '../options.ts'
import { fieldAt, fieldsOf, printResult, tableOf, UsageError, type Fields, type Format } from '../output.ts'

interface PriceOptions {
  readonly input?: string
  readonly output?: string
  readonly cachedInput?: string
  readonly cacheWrite?: string
  readonly cacheWrite1h?: string
  readonly reasoning?: string
  readonly perRequest?: string
  readonly perSearch?: string
  readonly free?: boolean
}

interface ModelOptions extends Format {
  readonly context?: number
  readonly maxOutput?: number
  readonly hiddenReasoning?: boolean
  readonly ownedBy?: string
  readonly route?: readonly string[]
  readonly prefer?: string
  readonly affinity?: boolean
  readonly fallback?: readonly string[]
  readonly listed?: boolean
}

interface Route {
  readonly upstream: string
  readonly model: string
}

function withPrices(command: Command): Command {
  return command
    .option('--input <price>', 'yuan for 1,000 tokens in', decimal)
    .option('--output <price>', 'yuan for 1,000 tokens out', decimal)
    .option('--cached-input <price>', 'for 1,000 tokens read from a cache; else as input', decimal)
    .option('--cache-write <price>', 'for 1,000 tokens written to a cache; else as input', decimal)
    .option(
      '--cache-write-1h <price>',
      'for 1,000 tokens written for an hour; else as --cache-write',
      decimal,
    )
    .option('--reasoning <price>', 'for 1,000 tokens of reasoning; else as output', decimal)
    .option('--per-request <amount>', 'yuan for each request, such as a search fee', decimal)
    .option('--per-search <amount>', 'yuan for each search of the web that the provider does', decimal)
    .option('--free', 'it costs nothing')
}

/** Prices as a body has them. Which of them go together, the administration says. */
function pricesOf(options: PriceOptions): Fields {
  if (options.free === true) return { free: true }
  const prices = given({
    input: options.input,
    output: options.output,
    cached_input: options.cachedInput,
    cache_write: options.cacheWrite,
    cache_write_1h: options.cacheWrite1h,
    reasoning: options.reasoning,
    per_request: options.perRequest,
    per_search: options.perSearch,
  })
  if (prices === undefined) throw new UsageError('Say what it costs: --input and --output, or --free.')
  return prices
}

/** `upstream=model`; without `=model` it has the same name there. */
export function routeOf(word: string, modelId: string): Route {
  const [upstream = '', ...rest] = word.split('=')
  const model = rest.join('=')
  return { upstream, model: model === '' ? modelId : model }
}

function bodyOf(id: string, options: ModelOptions): Fields | undefined {
  return given({
    context_tokens: options.context,
    max_output_tokens: options.maxOutput,
    hidden_reasoning: options.hiddenReasoning,
    owned_by: options.ownedBy,
    routes: options.route?.map((word) => routeOf(word, id)),
    prefer: options.prefer,
    affinity: options.affinity,
    fallbacks: options.fallback,
    listed: options.listed,
  })
}

async function add(id: string, options: ModelOptions & PriceOptions): Promise<void> {
  const body = { id, ...bodyOf(id, options), prices: pricesOf(options) }
  const model = await withControl({ command: 'model add', create: true }, (control) =>
    control.call('POST', '/models', body),
  )
  printResult(model, options, () => `Model ${id} is added.`)
}

async function set(id: string, options: ModelOptions): Promise<void> {
  const body = bodyOf(id, options)
  if (body === undefined)
    throw new UsageError('Say what to set: --listed, --no-listed, --route or another option.')
  const model = await withControl({ command: 'model set' }, (control) =>
    control.call('PATCH', `/models/${encodeURIComponent(id)}`, body),
  )
  printResult(model, options, () => `Model ${id} is changed.`)
}

async function price(id: string, options: Format & PriceOptions): Promise<void> {
  const prices = pricesOf(options)
  const model = await withControl({ command: 'model price' }, async (control) =>
    fieldsOf(await control.call('PATCH', `/models/${encodeURIComponent(id)}`, { prices })),
  )
  const version = String(model['price_version'])
  printResult(model, options, () => `Model ${id} has price version ${version}; running requests keep theirs.`)
}

async function list(format: Format): Promise<void> {
  const [data, upstreams] = await withControl({ command: 'model list' }, (control) =>
    Promise.all([listAll(control, '/models'), listAll(control, '/upstreams')]),
  )
  const names = new Map(upstreams.map((upstream) => [upstream['id'], String(upstream['name'])]))
  const routesOf = (model: Fields): string[] =>
    (Array.isArray(model['routes']) ? model['routes'] : []).map((route) => {
      const { upstream, model: name } = fieldsOf(route)
      return `${names.get(upstream) ?? String(upstream)}=${String(name)}`
    })
  printResult({ data, next: null }, format, () =>
    tableOf(
      ['ID', 'CONTEXT', 'INPUT', 'OUTPUT', 'LISTED', 'ROUTES'],
      data.map((model) => [
        model['id'],
        model['context_tokens'],
        fieldAt(model, 'prices.free') === true ? 'free' : fieldAt(model, 'prices.input'),
        fieldAt(model, 'prices.free') === true ? 'free' : fieldAt(model, 'prices.output'),
        model['listed'],
        routesOf(model),
      ]),
    ),
  )
}

async function remove(id: string, format: Format): Promise<void> {
  await withControl({ command: 'model remove' }, (control) =>
    control.call('DELETE', `/models/${encodeURIComponent(id)}`),
  )
  printResult({ id, deleted: true }, format, () => `Model ${id} is removed.`)
}

function withModelOptions(command: Command): Command {
  return command
    .option('--max-output <tokens>', 'the most it writes in one answer', wholeNumber)
    .option('--hidden-reasoning', 'its stream does not show the reasoning that it bills')
    .option('--owned-by <text>', 'shown in the list of models')
    .option('--route <upstream=model>', 'who serves it, and under which name; several times', listOption)
    .addOption(
      new Option('--prefer <what>', 'among upstreams of one priority').choices([
        'weight',
        'cheapest',
        'fastest',
      ]),
    )
    .option('--affinity', 'a conversation stays with its upstream')
    .option('--fallback <model>', 'a model that may answer in its place; several times', listOption)
}

export function completeModel(command: Command): void {
  const addCommand = command.command('add').argument('<id>', 'as callers name it')
  finished(
    addCommand,
    'model add family-a-small --context 16384 --input 0.002 --output 0.002 --route mine=small-v2',
  ).description('add a model; it has to have a price, or to be free')
  addCommand.requiredOption('--context <tokens>', 'how many tokens it takes', wholeNumber)
  withPrices(withModelOptions(addCommand)).option('--no-listed', 'not shown in the list of models')
  addCommand.action((id: string, { listed, ...options }: ModelOptions & PriceOptions) =>
    add(id, { ...options, listed: listed === false ? false : undefined }),
  )
  finished(command.command('list'), 'model list').description('list models').action(list)
  const setCommand = command.command('set').argument('<id>', 'as callers name it')
  finished(
    setCommand,
    'model set family-a-small --listed',
    'model set family-a-small --route mine --route other=m2',
  )
    .description('change what is named; routes are given whole')
    .option('--context <tokens>', 'how many tokens it takes', wholeNumber)
    .option('--listed', 'shown in the list of models')
    .option('--no-listed', 'not shown in it')
    .option('--no-affinity', 'each request is drawn anew')
  withModelOptions(setCommand).action(set)
  withPrices(
    finished(
      command.command('price').argument('<id>', 'as callers name it'),
      'model price family-a-small --input 0.002 --output 0.003',
    ).description('set a new price; it is the whole price, what is not named falls away'),
  ).action(price)
  finished(command.command('remove').argument('<id>', 'as callers name it'), 'model remove family-a-small')
    .description('take a model out of service')
    .action(remove)
}
