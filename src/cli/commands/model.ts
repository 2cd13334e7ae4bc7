/** `sluice model …`: the models that callers use, their prices and their routes. */

import { Option, type Command } from 'commander'
import { listAll, send, withAdminClient, type AdminClient } from '../admin-client.ts'
import {
  bodyFrom,
  parseDecimal,
  withJsonOption,
  parseList as listOption,
  parseInteger,
  parsePrices,
} from '../options.ts'
import {
  fieldAt,
  asFields,
  printResult,
  printRows,
  UsageError,
  type Fields,
  type OutputOptions,
} from '../output.ts'

interface PriceOptions extends OutputOptions {
  readonly free?: boolean
  readonly prices?: Fields
}

interface ModelOptions extends OutputOptions {
  readonly route?: readonly string[]
  readonly exposeModel?: boolean
  readonly listed?: boolean
}

interface Route {
  readonly upstream: string
  readonly model: string
}

function withPrices(command: Command): Command {
  return command
    .option('--input <price>', "per 1,000 input tokens, in the platform's currency", parseDecimal)
    .option('--output <price>', "per 1,000 output tokens, in the platform's currency", parseDecimal)
    .option('--cached-input <price>', 'per 1,000 tokens read from a cache; default: --input', parseDecimal)
    .option('--cache-write <price>', 'per 1,000 tokens written to a cache; default: --input', parseDecimal)
    .option(
      '--cache-write-1h <price>',
      'per 1,000 tokens cached for an hour; default: --cache-write',
      parseDecimal,
    )
    .option('--reasoning <price>', 'per 1,000 reasoning tokens; default: --output', parseDecimal)
    .option('--per-request <amount>', 'price of each request, such as a search fee', parseDecimal)
    .option('--per-search <amount>', 'price of each web search by the provider', parseDecimal)
    .option('--prices <json>', 'all prices as in the admin API, instead of the options above', parsePrices)
    .option('--free', 'free of charge')
}

/** The prices in a request body, by option; `PriceInput` has the same names. */
const priceFields = {
  input: 'input',
  output: 'output',
  cachedInput: 'cached_input',
  cacheWrite: 'cache_write',
  cacheWrite1h: 'cache_write_1h',
  reasoning: 'reasoning',
  perRequest: 'per_request',
  perSearch: 'per_search',
} as const

/** Prices as in a request body; the admin API validates their combination. */
function pricesFrom(options: PriceOptions): Fields {
  if (options.free === true) return { free: true }
  if (options.prices !== undefined) return options.prices
  const prices = bodyFrom(options, priceFields)
  if (prices === undefined)
    throw new UsageError('Missing price. Use --input and --output, --prices, or --free.')
  return prices
}

/** `upstream=model`; without `=model`, the upstream uses the same name. */
export function parseRoute(word: string, modelId: string): Route {
  const [upstream = '', ...rest] = word.split('=')
  const model = rest.join('=')
  return { upstream, model: model === '' ? modelId : model }
}

const modelFields = {
  context: 'context_tokens',
  maxOutput: 'max_output_tokens',
  hiddenReasoning: 'hidden_reasoning',
  ownedBy: 'owned_by',
  routes: 'routes',
  prefer: 'prefer',
  affinity: 'affinity',
  fallback: 'fallbacks',
  operations: 'operations',
  listed: 'listed',
} as const

function modelBody(id: string, options: ModelOptions): Fields | undefined {
  const { route, exposeModel } = options
  const routes = route?.map((word) => ({ ...parseRoute(word, id), expose_model: exposeModel }))
  return bodyFrom({ ...options, routes }, modelFields)
}

const pathTo = (id: string): string => `/models/${encodeURIComponent(id)}`

async function add(id: string, options: ModelOptions & PriceOptions): Promise<void> {
  const body = { id, ...modelBody(id, options), prices: pricesFrom(options) }
  const model = await send('model add', 'POST', '/models', body)
  printResult(model, options, () => `Added model ${id}.`)
}

function routesIn(model: Fields): Fields[] {
  const { routes } = model
  return Array.isArray(routes) ? routes.map(asFields) : []
}

/** The options name only the upstream and its model: routes that the model has already keep priority, weight and cost. */
async function mergeRoutes(client: AdminClient, id: string, routes: readonly Fields[]): Promise<Fields[]> {
  const [model, upstreams] = await Promise.all([
    client.call('GET', pathTo(id)),
    listAll(client, '/upstreams'),
  ])
  const ids = new Map(upstreams.map((upstream) => [upstream['name'], upstream['id']]))
  const current = routesIn(asFields(model))
  return routes.map((route) => {
    const upstream = ids.get(route['upstream']) ?? route['upstream']
    const before = current.find((each) => each['upstream'] === upstream && each['model'] === route['model'])
    return { ...before, ...route }
  })
}

async function set(id: string, options: ModelOptions): Promise<void> {
  const body = modelBody(id, options)
  if (body === undefined)
    throw new UsageError('Nothing to change. Use --listed, --no-listed, --route or another option.')
  const model = await withAdminClient('model set', async (client) => {
    const routes = options.route && (await mergeRoutes(client, id, routesIn(body)))
    return client.call('PATCH', pathTo(id), { ...body, routes })
  })
  printResult(model, options, () => `Updated model ${id}.`)
}

async function price(id: string, options: PriceOptions): Promise<void> {
  const model = await send('model price', 'PATCH', pathTo(id), { prices: pricesFrom(options) })
  const version = String(model['price_version'])
  const text = `Model ${id} now has price version ${version}. Requests in progress keep their prices.`
  printResult(model, options, () => text)
}

const priceColumn = (name: 'input' | 'output') => (model: Fields) =>
  fieldAt(model, 'prices.free') === true ? 'free' : fieldAt(model, `prices.${name}`)

async function list(format: OutputOptions): Promise<void> {
  const [models, upstreams] = await withAdminClient('model list', (client) =>
    Promise.all([listAll(client, '/models'), listAll(client, '/upstreams')]),
  )
  const names = new Map(upstreams.map((upstream) => [upstream['id'], String(upstream['name'])]))
  const columns = {
    ID: 'id',
    CONTEXT: 'context_tokens',
    INPUT: priceColumn('input'),
    OUTPUT: priceColumn('output'),
    LISTED: 'listed',
    ROUTES: (model: Fields) =>
      routesIn(model).map(
        ({ upstream, model: name }) => `${names.get(upstream) ?? String(upstream)}=${String(name)}`,
      ),
  }
  printRows(models, columns, format)
}

async function remove(id: string, format: OutputOptions): Promise<void> {
  await send('model remove', 'DELETE', pathTo(id))
  printResult({ id, deleted: true }, format, () => `Removed model ${id}.`)
}

function withModelOptions(command: Command): Command {
  return command
    .option('--max-output <tokens>', 'maximum output tokens per response', parseInteger)
    .option('--hidden-reasoning', 'its stream omits the reasoning that it bills')
    .option('--owned-by <text>', 'shown in the list of models')
    .option('--route <upstream=model>', 'an upstream and its name of the model; repeatable', listOption)
    .option('--expose-model', "responses have the upstream's name of the model; with --route")
    .addOption(
      new Option('--prefer <what>', 'how to choose among upstreams of the same priority').choices([
        'weight',
        'cheapest',
        'fastest',
      ]),
    )
    .option('--affinity', 'keep a conversation on one upstream')
    .option(
      '--operations <name>',
      'what it can do: chat (default), completions or embeddings; repeatable',
      listOption,
    )
    .option('--fallback <model>', 'a model that may serve requests instead; repeatable', listOption)
}

export function configure(command: Command): void {
  const addCommand = command.command('add').argument('<id>', 'as callers name it')
  withJsonOption(
    addCommand,
    'model add family-a-small --context 16384 --input 0.002 --output 0.002 --route mine=small-v2',
  ).description('add a model with a price, or --free')
  addCommand.requiredOption('--context <tokens>', 'context length in tokens', parseInteger)
  withPrices(withModelOptions(addCommand)).option('--no-listed', 'hide it from the list of models')
  addCommand.action((id: string, { listed, ...options }: ModelOptions & PriceOptions) =>
    add(id, { ...options, listed: listed === false ? false : undefined }),
  )
  withJsonOption(command.command('list'), 'model list').description('list models').action(list)
  const setCommand = command.command('set').argument('<id>', 'as callers name it')
  withJsonOption(
    setCommand,
    'model set family-a-small --listed',
    'model set family-a-small --route mine --route other=m2',
  )
    .description(
      'change a model; --route replaces all routes: those that stay keep their priority, weight and cost',
    )
    .option('--context <tokens>', 'context length in tokens', parseInteger)
    .option('--listed', 'show it in the list of models')
    .option('--no-listed', 'hide it from the list of models')
    .option('--no-affinity', 'choose an upstream for each request')
  withModelOptions(setCommand).action(set)
  withPrices(
    withJsonOption(
      command.command('price').argument('<id>', 'as callers name it'),
      'model price family-a-small --input 0.002 --output 0.003',
    ).description('set a new price; it replaces the whole price'),
  ).action(price)
  withJsonOption(
    command.command('remove').argument('<id>', 'as callers name it'),
    'model remove family-a-small',
  )
    .description('remove a model')
    .action(remove)
}
