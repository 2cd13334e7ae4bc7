/** `/availability`: success rate per model, by day or minute, against the objectives that `/objectives` sets. */
import { z } from '@hono/zod-openapi'
import { admin } from '../admin-context.ts'
import type { AppContext } from '../../app-context.ts'
import type { Db } from '../../../db/db.ts'
import { apiError } from '../../../errors.ts'
import {
  burnRate,
  dayMs,
  queryDays,
  minuteMs,
  queryMinutes,
  monthBounds,
  noModel,
  relayApi,
  relayApiCounts,
  relayApiSpans,
  totalOf,
  successRate,
  sumCounts,
  sumByModelSince,
  withRelayApi,
  type ModelSpan,
  type SpanOutcomeCounts,
} from '../../../health/availability.ts'
import { burnRules, isBurning } from '../../../health/objective-evaluation.ts'
import { objectiveFor, readObjectives, setObjective, type Objectives } from '../../../health/objectives.ts'
import { time, timeQuery } from '../schemas.ts'
import { parseTime, formatTime } from '../../api/json-values.ts'
import { last24HoursStart } from '../../api/time-spans.ts'

const percent = z.number().meta({ description: 'A percentage.', example: 99.9 })
const countFields = {
  answered: z.int(),
  failed: z.int().meta({ description: 'Requests within the objective that got no complete response.' }),
  received: z.int().meta({ description: '`answered` plus `failed`.' }),
  apart: z.int().meta({
    description:
      'Not counted: errors of callers, requests rejected by balance or limits, and responses aborted by callers.',
  }),
  success_percent: percent.nullable().meta({ description: 'null if no requests were received.' }),
}
const countSchema = z.object(countFields)
const spanSchema = countSchema.extend({ start: time })
const measuredSchema = countSchema.extend({
  objective_percent: percent,
  met: z.boolean().nullable(),
  budget_used_percent: percent
    .nullable()
    .meta({ description: 'Share of the error budget that is used; above 100 the objective is missed.' }),
})
const burnRateSchema = z.object({
  rule: z.enum(['fast', 'slow']),
  long: z.string(),
  long_burn: z
    .number()
    .meta({ description: 'The burn rate: how many times faster than allowed the error budget is used.' }),
  short: z.string(),
  short_burn: z.number(),
  threshold: z.number(),
  alerting: z.boolean(),
})
export const availabilitySchema = z
  .object({
    from: time,
    to: time,
    step: z.enum(['minute', 'day']),
    total: countSchema,
    data: z.array(
      z.object({
        model: z.string().meta({
          description:
            '`Relay API`: the relay itself. It failed where it rejected requests with a 5xx before their model was known, for example while its store was unavailable.',
        }),
        total: measuredSchema,
        month: measuredSchema
          .extend({ start: time })
          .meta({ description: 'The current calendar month, UTC.' }),
        last_24_hours: countSchema.meta({ description: 'The current hour and the 23 before it.' }),
        burn_rates: z.array(burnRateSchema),
        spans: z.array(spanSchema),
      }),
    ),
  })
  .openapi('Availability')
const objectiveSchema = z
  .object({
    model: z.string().nullable().meta({ description: 'null: the default for models without their own.' }),
    objective_percent: percent,
  })
  .openapi('Objective')

/** Rounds away the noise of binary fractions. */
function toPercent(share: number): number {
  return Number((share * 100).toFixed(6))
}

function serializeCounts(sums: SpanOutcomeCounts) {
  const success = successRate(sums)
  const { answered, failed, apart } = sums
  return {
    answered,
    failed,
    received: totalOf(sums),
    apart,
    success_percent: success === null ? null : toPercent(success),
  }
}

function serializeMeasured(sums: SpanOutcomeCounts, objective: number): z.infer<typeof measuredSchema> {
  const success = successRate(sums)
  return {
    ...serializeCounts(sums),
    objective_percent: toPercent(objective),
    met: success === null ? null : success >= objective,
    budget_used_percent: success === null ? null : toPercent(burnRate(sums, objective)),
  }
}

interface AvailabilityQuery {
  readonly model: string | undefined
  readonly from: number
  readonly to: number
  readonly step: 'minute' | 'day'
}

const stepBounds = {
  minute: { ms: minuteMs, defaultMs: 60 * minuteMs, maxMs: dayMs + minuteMs, maxText: 'one day by minute' },
  day: { ms: dayMs, defaultMs: 30 * dayMs, maxMs: 400 * dayMs, maxText: '400 days' },
} as const

function toAvailabilityQuery(
  query: { model?: string; from?: string; to?: string; step: 'minute' | 'day' },
  now: number,
): AvailabilityQuery {
  const { ms, defaultMs, maxMs, maxText } = stepBounds[query.step]
  const end = parseTime(query.to) ?? now
  const from = Math.floor((parseTime(query.from) ?? end - defaultMs) / ms) * ms
  const to = Math.ceil(end / ms) * ms
  if (from >= to)
    throw apiError('invalid_request', { param: 'from', message: 'Invalid `from`: must be before `to`.' })
  if (to - from > maxMs)
    throw apiError('invalid_request', { param: 'from', message: `Range too long: at most ${maxText}.` })
  return { model: query.model, from, to, step: query.step }
}

type CountsByModel = ReadonlyMap<string, SpanOutcomeCounts>

const zeroCounts: SpanOutcomeCounts = { answered: 0, failed: 0, apart: 0 }

async function readBurnWindows(db: Db, now: number): Promise<Map<number, CountsByModel>> {
  const lengths = burnRules.flatMap(({ longMs, shortMs }) => [longMs, shortMs])
  const sums = await Promise.all(lengths.map((ms) => sumByModelSince(db, now - ms)))
  return new Map(lengths.map((ms, index) => [ms, withRelayApi(sums[index] ?? new Map())]))
}

/** The spans by component: the relay's API, and each model. A query for one of them has no others. */
function groupSpans(spans: readonly ModelSpan[], model: string | undefined): Map<string, ModelSpan[]> {
  const byModel = Map.groupBy(model === relayApi ? [] : spans, (each) => each.model)
  byModel.delete(noModel)
  if (model === undefined || model === relayApi) byModel.set(relayApi, relayApiSpans(spans))
  return byModel
}

function serializeBurnRates(
  windows: ReadonlyMap<number, CountsByModel>,
  model: string,
  options: { readonly objective: number; readonly minFailures: number },
) {
  return burnRules.map((rule) => {
    const long = windows.get(rule.longMs)?.get(model) ?? zeroCounts
    const short = windows.get(rule.shortMs)?.get(model) ?? zeroCounts
    return {
      rule: rule.name,
      long: `${rule.longMs / minuteMs}m`,
      long_burn: burnRate(long, options.objective),
      short: `${rule.shortMs / minuteMs}m`,
      short_burn: burnRate(short, options.objective),
      threshold: rule.burnRate,
      alerting: isBurning({ long, short }, rule, options),
    }
  })
}

async function readAvailability(
  ctx: AppContext,
  query: AvailabilityQuery,
  now: number,
): Promise<z.infer<typeof availabilitySchema>> {
  const { db, config, catalog } = ctx
  const month = monthBounds(now)
  // The relay's API is computed from all models.
  const filter = { ...query, model: query.model === relayApi ? undefined : query.model }
  const [spans, monthDays, lastHours, windows, objectives] = await Promise.all([
    query.step === 'day' ? queryDays(db, filter) : queryMinutes(db, filter),
    queryDays(db, { model: filter.model, ...month }),
    sumByModelSince(db, last24HoursStart(now)),
    readBurnWindows(db, now),
    readObjectives(db, config.objectivePercent),
  ])
  const months = groupSpans(monthDays, query.model)
  const last24Hours = withRelayApi(lastHours)
  const spansBy = groupSpans(spans, query.model)
  const listed = catalog.listed().filter(({ id }) => query.model === undefined || query.model === id)
  const models = [...new Set([...spansBy.keys(), ...listed.map(({ id }) => id)])].toSorted()
  const serializeModel = (model: string, modelSpans: ModelSpan[], objective: number) => ({
    model,
    total: serializeMeasured(sumCounts(modelSpans), objective),
    month: {
      start: formatTime(month.from),
      ...serializeMeasured(sumCounts(months.get(model) ?? []), objective),
    },
    last_24_hours: serializeCounts(last24Hours.get(model) ?? zeroCounts),
    burn_rates: serializeBurnRates(windows, model, { objective, minFailures: config.incidentMinimum }),
    spans: modelSpans.map((modelSpan) => ({
      start: formatTime(modelSpan.start),
      ...serializeCounts(modelSpan),
    })),
  })
  return {
    from: formatTime(query.from),
    to: formatTime(query.to),
    step: query.step,
    total: serializeCounts(query.model === relayApi ? relayApiCounts(spans) : sumCounts(spans)),
    data: models.map((model) =>
      serializeModel(model, spansBy.get(model) ?? [], objectiveFor(objectives, model)),
    ),
  }
}

function serializeObjectives({ fallback, perModel }: Objectives): z.infer<typeof objectiveSchema>[] {
  const views = [...perModel].map(([model, objective]) => ({
    model,
    objective_percent: toPercent(objective),
  }))
  return [
    { model: null, objective_percent: toPercent(fallback) },
    ...views.toSorted((left, right) => (left.model < right.model ? -1 : 1)),
  ]
}

export const availabilityEndpoints = [
  admin.get('/availability', {
    summary: 'Get the success rate per model',
    description:
      'By day (UTC), at most 400 days; by minute, at most one day within the last 40 days. The range is extended to full spans. A request counts at the time it ends.',
    query: {
      model: z.string().optional(),
      from: timeQuery
        .optional()
        .meta({ description: 'Default: 30 days before `to`, or one hour by minute.' }),
      to: timeQuery.optional().meta({ description: 'Default: now.' }),
      step: z.enum(['minute', 'day']).default('day'),
    },
    response: availabilitySchema,
    returns: 'The relay’s API, the listed models and all models with requests in the range, by name.',
    handle({ ctx, query }) {
      const now = Date.now()
      return readAvailability(ctx, toAvailabilityQuery(query, now), now)
    },
  }),
  admin.list('/objectives', {
    summary: 'List the objectives: the default and those of individual models',
    item: objectiveSchema,
    returns: 'All objectives.',
    idOf: ({ model }) => model ?? '',
    handle: async ({ ctx: { db, config } }) =>
      serializeObjectives(await readObjectives(db, config.objectivePercent)),
  }),
  admin.put('/objectives', {
    summary: 'Set the objective of a model; null resets it to the default',
    body: z.strictObject({ model: z.string(), objective_percent: z.number().nullable() }),
    response: objectiveSchema,
    returns: 'The effective objective of the model.',
    async handle({ ctx: { db, config }, by, body: { model, objective_percent: objective } }) {
      await setObjective(db, model, objective, by)
      const objectives = await readObjectives(db, config.objectivePercent)
      return { model, objective_percent: toPercent(objectiveFor(objectives, model)) }
    },
  }),
]
