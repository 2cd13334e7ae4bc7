/** `sluice seed`: the reference models and prices, to be looked at first and added only then. */

import type { Command } from 'commander'
import { referenceModels, type ReferenceModel } from '../catalog/reference.ts'
import { readConfig } from '../config.ts'
import { hasDatabase, listAll, withControl, type Control } from './client.ts'
import { finished, given, list } from './options.ts'
import {
  CommandError,
  fieldAt,
  printResult,
  tableOf,
  UsageError,
  type Fields,
  type Format,
} from './output.ts'

interface SeedOptions extends Format {
  readonly upstream?: string
  readonly name?: readonly string[]
  readonly only?: readonly string[]
  readonly live?: boolean
  readonly yes?: boolean
}

interface Plan {
  /** What is sent to `POST /models`. */
  readonly body: Fields
  readonly priceSource: string
  readonly exists: boolean
}

function chosen(only: readonly string[] | undefined): readonly ReferenceModel[] {
  if (only === undefined) return referenceModels
  const unknown = only.filter((id) => !referenceModels.some((model) => model.id === id))
  if (unknown.length > 0) throw new UsageError(`There is no reference model ${unknown.join(', ')}.`)
  return referenceModels.filter((model) => only.includes(model.id))
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

function bodyOf(model: ReferenceModel, options: SeedOptions, names: ReadonlyMap<string, string>): Fields {
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
          reasoning: words?.reasoning,
          per_request: words?.perRequest,
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
  return chosen(options.only).map((model) => ({
    body: bodyOf(model, options, names),
    priceSource: model.priceSource,
    exists: ids.has(model.id),
  }))
}

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
      exists ? 'exists, stays as it is' : added,
    ]),
  )
}

async function seed(options: SeedOptions): Promise<void> {
  const isSure = options.yes === true
  const work = async (control: Control | null): Promise<Plan[]> => {
    const plans = await plan(control, options)
    for (const { body, exists } of isSure ? plans : []) {
      if (!exists) await control?.call('POST', '/models', body)
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
    .option('--only <models>', 'only these, with commas', list)
    .option('--live', 'list them at once')
    .option('--yes', 'add them; without it they are only shown')
    .action(seed)
}
