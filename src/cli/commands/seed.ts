/** `sluice seed`: the reference models and prices, to be looked at first and added only then. */

import type { Command } from 'commander'
import { listedProviders, priceListOf } from '../../catalog/price-lists.ts'
import { referenceModels, type ReferenceModel } from '../../catalog/reference-models.ts'
import { readConfig } from '../../config.ts'
import { factorPpmOf } from '../../lib/money.ts'
import { hasDatabase, listAll, withControl, type Control } from '../admin-client.ts'
import { finished, given, list } from '../options.ts'
import {
  CommandError,
  fieldAt,
  printResult,
  tableOf,
  UsageError,
  type Fields,
  type Format,
} from '../output.ts'

interface SeedOptions extends Format {
  readonly upstream?: string
  readonly name?: readonly string[]
  readonly only?: readonly string[]
  readonly from?: string
  readonly rate?: string
  readonly live?: boolean
  readonly yes?: boolean
}

interface Plan {
  /** What is sent to `POST /models`. */
  readonly body: Fields
  readonly priceSource: string
  readonly exists: boolean
}

/** A model to seed; its context length is not always known. */
type Seedling = Omit<ReferenceModel, 'contextTokens' | 'priceSource'> & {
  readonly contextTokens: number | null
  readonly priceSource: string
}

/** The reference models, or those of a provider's price list. */
function seedlings({ from, rate }: SeedOptions): readonly Seedling[] {
  if (from === undefined) return referenceModels
  const models = priceListOf(from, factorPpmOf(rate ?? '1', 'rate'), new Date().toISOString().slice(0, 10))
  if (models === null) throw new UsageError(`There is a price list for ${listedProviders.join(', ')}.`)
  return models.map(({ id, contextTokens, prices, remarks }) => ({
    id,
    contextTokens,
    prices,
    ownedBy: from,
    priceSource: [from, ...remarks.map((remark) => remark.replaceAll('_', ' '))].join(', '),
  }))
}

function chosen(options: SeedOptions): readonly Seedling[] {
  const { only } = options
  const models = seedlings(options)
  if (only === undefined) return models
  const unknown = only.filter((id) => !models.some((model) => model.id === id))
  if (unknown.length > 0) throw new UsageError(`There is no such model to seed: ${unknown.join(', ')}.`)
  return models.filter((model) => only.includes(model.id))
}

/** `family-a-small=gpt-x`: the upstream's names of models. */
function namesOf(words: readonly string[] = []): ReadonlyMap<string, string> {
  return new Map(
    words.map((word) => {
      const [id = '', ...rest] = word.split('=')
      if (rest.length === 0 || id === '')
        throw new UsageError(`"${word}" has to be <model>=<name at the upstream>.`)
      return [id, rest.join('=')] as const
    }),
  )
}

function bodyOf(model: Seedling, options: SeedOptions, names: ReadonlyMap<string, string>): Fields {
  const { prices } = model
  const isFree = prices !== undefined && 'free' in prices
  const words = isFree || prices === undefined ? undefined : prices
  return {
    id: model.id,
    context_tokens: model.contextTokens,
    ...given({ max_output_tokens: model.maxOutputTokens, hidden_reasoning: model.hiddenReasoning }),
    owned_by: model.ownedBy,
    listed: options.live === true,
    prices: isFree
      ? { free: true }
      : given({
          input: words?.input,
          output: words?.output,
          cached_input: words?.cachedInput,
          cache_write: words?.cacheWrite,
          cache_write_1h: words?.cacheWrite1h,
          reasoning: words?.reasoning,
          per_request: words?.perRequest,
          per_search: words?.perSearch,
        }),
    routes:
      options.upstream === undefined
        ? []
        : [{ upstream: options.upstream, model: names.get(model.id) ?? model.id }],
  }
}

async function plan(control: Control | null, options: SeedOptions): Promise<Plan[]> {
  const names = namesOf(options.name)
  const existing = control === null ? [] : await listAll(control, '/models')
  const ids = new Set(existing.map((model) => model['id']))
  if (options.upstream !== undefined) {
    if (control === null) throw new CommandError(`There is no upstream ${options.upstream} yet.`)
    await control.call('GET', `/upstreams/${encodeURIComponent(options.upstream)}`)
  }
  return chosen(options).map((model) => ({
    body: bodyOf(model, options, names),
    priceSource: model.priceSource,
    exists: ids.has(model.id),
  }))
}

function stateOf({ body, exists }: Pick<Plan, 'body' | 'exists'>, added: string): string {
  if (exists) return 'exists, stays as it is'
  return canBeAdded(body) ? added : 'left out: its context length is not known'
}

const canBeAdded = (body: Fields): boolean => body['context_tokens'] !== null

function tableOfPlans(plans: readonly Plan[], isDone: boolean): string {
  const added = isDone ? 'added' : 'new'
  return tableOf(
    [
      'MODEL',
      'CONTEXT',
      'INPUT',
      'OUTPUT',
      'CACHED',
      'WRITTEN',
      'REQUEST',
      'PRICE FROM',
      'SERVED AS',
      'STATE',
    ],
    plans.map(({ body, priceSource, exists }) => [
      body['id'],
      body['context_tokens'],
      fieldAt(body, 'prices.input'),
      fieldAt(body, 'prices.output'),
      fieldAt(body, 'prices.cached_input'),
      fieldAt(body, 'prices.cache_write'),
      fieldAt(body, 'prices.per_request'),
      priceSource,
      fieldAt(body, 'routes.0.model'),
      stateOf({ body, exists }, added),
    ]),
  )
}

async function seed(options: SeedOptions): Promise<void> {
  const isSure = options.yes === true
  const work = async (control: Control | null): Promise<Plan[]> => {
    const plans = await plan(control, options)
    for (const { body, exists } of isSure ? plans : []) {
      if (!exists && canBeAdded(body)) await control?.call('POST', '/models', body)
    }
    return plans
  }
  const mayStay = !isSure && !hasDatabase(readConfig())
  const plans = mayStay ? await work(null) : await withControl({ command: 'seed', create: isSure }, work)
  const models = plans.map(({ body, priceSource, exists }) => ({
    ...body,
    price_source: priceSource,
    exists,
  }))
  printResult({ applied: isSure, models }, options, () => {
    const last = isSure
      ? 'Prices are yuan for 1,000 tokens, and for a request.'
      : 'Prices are yuan for 1,000 tokens, and for a request. Nothing is changed yet: --yes adds what is new' +
        `${options.live === true ? '' : ', unlisted unless --live'}.`
    return `${tableOfPlans(plans, isSure)}\n\n${last}`
  })
}

export function completeSeed(command: Command): void {
  finished(
    command,
    'seed',
    'seed --upstream mine --name family-a-small=small-v2 --only family-a-small --live --yes',
  )
    .option('--upstream <upstream>', 'the id or name of the upstream to route them to')
    .option('--name <model=name>', "the upstream's name of a model; else the same; several times", list)
    .option('--from <provider>', 'the models of its price list instead of the reference models')
    .option('--rate <number>', 'what a dollar of that list is to be in your currency, your margin included')
    .option('--only <models>', 'only these, with commas', list)
    .option('--live', 'list them at once')
    .option('--yes', 'add them; without it they are only shown')
    .addHelpText(
      'after',
      '\nPRICE FROM says "list" where a published price list has the price, "reference" where it is set in its proportions.',
    )
    .action(seed)
}
