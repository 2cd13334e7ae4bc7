/** `sluice seed`: previews the reference models and prices, and adds them with --yes. */

import type { Command } from 'commander'
import { listedProviders, parseListRate, priceListOf } from '../../catalog/price-lists.ts'
import { pricesJson } from '../../catalog/price-input.ts'
import { referenceModelsIn, type ReferenceModel } from '../../catalog/reference-models.ts'
import { listAll, withAdminClient, type AdminClient } from '../admin-client.ts'
import { withJsonOption, parseList } from '../options.ts'
import { formatRows, printResult, UsageError, type Fields, type OutputOptions } from '../output.ts'

interface SeedOptions extends OutputOptions {
  readonly upstream?: string
  readonly name?: readonly string[]
  readonly exposeModel?: boolean
  readonly only?: readonly string[]
  readonly from?: string
  readonly rate?: string
  readonly live?: boolean
  readonly yes?: boolean
}

interface Plan {
  /** The body for `POST /models`. */
  readonly body: Fields
  readonly priceSource: string
  readonly exists: boolean
}

/** A model to add; its context length is not always known. */
type SeedModel = Omit<ReferenceModel, 'contextTokens' | 'priceSource'> & {
  readonly contextTokens: number | null
  readonly priceSource: string
}

/** The reference models, or those of a provider's price list. */
async function availableModels({ from, rate }: SeedOptions, currency: string): Promise<readonly SeedModel[]> {
  if (from === undefined) return referenceModelsIn(currency, rate)
  const date = new Date().toISOString().slice(0, 10)
  const models = await priceListOf(from, parseListRate(rate, currency), date)
  if (models === null)
    throw new UsageError(`No price list for ${from}. Price lists exist for ${listedProviders.join(', ')}.`)
  return models.map(({ id, contextTokens, prices, remarks }) => ({
    id,
    contextTokens,
    prices,
    ownedBy: from,
    priceSource: [from, ...remarks.map((remark) => remark.replaceAll('_', ' '))].join(', '),
  }))
}

async function selectedModels(options: SeedOptions, currency: string): Promise<readonly SeedModel[]> {
  const { only } = options
  const models = await availableModels(options, currency)
  if (only === undefined) return models
  const unknown = only.filter((id) => !models.some((model) => model.id === id))
  if (unknown.length > 0) throw new UsageError(`Unknown models: ${unknown.join(', ')}.`)
  return models.filter((model) => only.includes(model.id))
}

/** Parses `family-a-small=gpt-x`, the upstream's names of models. */
function parseNames(entries: readonly string[] = []): ReadonlyMap<string, string> {
  return new Map(
    entries.map((word) => {
      const [id = '', ...rest] = word.split('=')
      if (rest.length === 0 || id === '')
        throw new UsageError(`Invalid --name "${word}": must be <model>=<name at the upstream>.`)
      return [id, rest.join('=')] as const
    }),
  )
}

function modelBody(model: SeedModel, options: SeedOptions, names: ReadonlyMap<string, string>): Fields {
  const prices = model.prices && pricesJson(model.prices)
  return {
    id: model.id,
    context_tokens: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    hidden_reasoning: model.hiddenReasoning,
    owned_by: model.ownedBy,
    listed: options.live === true,
    prices,
    routes:
      options.upstream === undefined
        ? []
        : [
            {
              upstream: options.upstream,
              model: names.get(model.id) ?? model.id,
              expose_model: options.exposeModel,
              // A provider's price list is what its models cost.
              cost: options.from === undefined ? undefined : prices,
            },
          ],
  }
}

/** The platform's, as the relay runs with it. */
async function readCurrency(client: AdminClient): Promise<string> {
  const settings = await listAll(client, '/settings')
  return String(settings.find(({ env }) => env === 'CURRENCY')?.['value'])
}

async function planSeed(client: AdminClient, options: SeedOptions, currency: string): Promise<Plan[]> {
  const names = parseNames(options.name)
  const existing = await listAll(client, '/models')
  const ids = new Set(existing.map((model) => model['id']))
  if (options.upstream !== undefined) {
    await client.call('GET', `/upstreams/${encodeURIComponent(options.upstream)}`)
  }
  return (await selectedModels(options, currency)).map((model) => ({
    body: modelBody(model, options, names),
    priceSource: model.priceSource,
    exists: ids.has(model.id),
  }))
}

function stateText({ body, exists }: Plan, added: string): string {
  if (exists) return 'exists, unchanged'
  return canBeAdded(body) ? added : 'skipped: unknown context length'
}

const canBeAdded = (body: Fields): boolean => body['context_tokens'] !== null

const columns = {
  MODEL: 'id',
  CONTEXT: 'context_tokens',
  INPUT: 'prices.input',
  OUTPUT: 'prices.output',
  'CACHED INPUT': 'prices.cached_input',
  'CACHE WRITE': 'prices.cache_write',
  REQUEST: 'prices.per_request',
  'PRICE FROM': 'price_source',
  'SERVED AS': 'routes.0.model',
  STATE: 'state',
}

function formatPlans(plans: readonly Plan[], isDone: boolean): string {
  const rows = plans.map((plan) => ({
    ...plan.body,
    price_source: plan.priceSource,
    state: stateText(plan, isDone ? 'added' : 'new'),
  }))
  return formatRows(rows, columns)
}

async function seed(options: SeedOptions): Promise<void> {
  const isConfirmed = options.yes === true
  const { currency, plans } = await withAdminClient('seed', async (client) => {
    const known = await readCurrency(client)
    const planned = await planSeed(client, options, known)
    for (const { body, exists } of isConfirmed ? planned : []) {
      if (!exists && canBeAdded(body)) await client.call('POST', '/models', body)
    }
    return { currency: known, plans: planned }
  })
  const models = plans.map(({ body, priceSource, exists }) => ({
    ...body,
    price_source: priceSource,
    exists,
  }))
  printResult({ applied: isConfirmed, models }, options, () => {
    const unit = `Prices are in ${currency} per 1,000 tokens and per request.`
    const priceNote = isConfirmed
      ? unit
      : `${unit} Nothing has been changed: use --yes to add new models` +
        `${options.live === true ? '' : ', and --live to list them'}.`
    return `${formatPlans(plans, isConfirmed)}\n\n${priceNote}`
  })
}

export function configure(command: Command): void {
  withJsonOption(
    command,
    'seed',
    'seed --upstream mine --name family-a-small=small-v2 --only family-a-small --live --yes',
  )
    .option('--upstream <upstream>', 'id or name of the upstream to route them to')
    .option('--name <model=name>', "the upstream's name of a model, if it differs; repeatable", parseList)
    .option('--expose-model', 'responses have these names, not the ids of the models')
    .option('--from <provider>', "use this provider's price list instead of the reference models")
    .option(
      '--rate <number>',
      "price in the platform's currency of a dollar on that list, or of a yuan of the reference models, including your margin",
    )
    .option('--only <models>', 'only these models, comma-separated', parseList)
    .option('--live', 'show the new models in the list of models')
    .option('--yes', 'add the models; by default they are only shown')
    .addHelpText(
      'after',
      '\nPRICE FROM is "list" for prices from a published price list, "reference" for prices set in proportion to it.',
    )
    .action(seed)
}
