/** `/availability`: answered ÷ received per model, by day or minute, against the objective; `/objectives` sets it. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { refuse } from '../../errors.ts'
import {
  burnOf,
  dayMs,
  daysOf,
  minuteMs,
  minutesOf,
  monthAround,
  receivedOf,
  successOf,
  sumOf,
  sumsSince,
  type ModelSpan,
  type SpanCounts,
} from '../../health/availability.ts'
import { burnRules, isBurning } from '../../health/judge.ts'
import { objectiveFor, readObjectives, setObjective, type Objectives } from '../../health/objectives.ts'
import type { Desk } from './desk.ts'
import { bodyOf, listAnswer, msOf, okAnswer, time, timeAsked, timeOf } from './schemas.ts'
import { shortListFields, shownOf } from './short-lists.ts'

const percent = z.number().meta({ description: 'Of a hundred.', example: 99.9 })
const counts = {
  answered: z.int(),
  failed: z.int().meta({ description: 'Ours to answer, and not answered whole.' }),
  received: z.int().meta({ description: '`answered` and `failed` together.' }),
  apart: z.int().meta({
    description:
      'Callers’ own mistakes, refusals for money and limits, answers that callers left: no part of it.',
  }),
  success_percent: percent.nullable().meta({ description: 'null when nothing was received.' }),
}
const span = z.object({ start: time, ...counts })
const measured = z.object({
  ...counts,
  objective_percent: percent,
  met: z.boolean().nullable(),
  budget_used_percent: percent
    .nullable()
    .meta({ description: 'Of the failures that the objective allows; above 100 it is missed.' }),
})
const burn = z.object({
  rule: z.enum(['fast', 'slow']),
  long: z.string(),
  long_burn: z.number().meta({ description: 'How many times faster than allowed failures come.' }),
  short: z.string(),
  short_burn: z.number(),
  threshold: z.number(),
  alerting: z.boolean(),
})
export const availabilityOut = z
  .object({
    from: time,
    to: time,
    step: z.enum(['minute', 'day']),
    total: z.object({ ...counts }),
    data: z.array(
      z.object({
        model: z.string().meta({ description: 'Empty: refused by us before the model was read.' }),
        total: measured,
        month: measured.extend({ start: time }).meta({ description: 'The open calendar month, UTC.' }),
        burn_rates: z.array(burn),
        spans: z.array(span),
      }),
    ),
  })
  .openapi('Availability')
const objectiveOut = z
  .object({
    model: z.string().nullable().meta({ description: 'null: of models without one of their own.' }),
    objective_percent: percent,
  })
  .openapi('Objective')

const read = createRoute({
  method: 'get',
  path: '/availability',
  summary: 'How many of the requests that are ours to answer were answered, per model',
  description:
    'By day (UTC), up to 400 days; by minute, up to a day of the last 40. Times are widened to whole spans. A request counts when it ends.',
  request: {
    query: z.strictObject({
      model: z.string().optional(),
      from: timeAsked.optional().meta({ description: 'Default: 30 days, or an hour, before `to`.' }),
      to: timeAsked.optional().meta({ description: 'Default: now.' }),
      step: z.enum(['minute', 'day']).default('day'),
    }),
  },
  responses: okAnswer(
    availabilityOut,
    'The listed models, and those that received anything in that time, by name.',
  ),
})
const objectives = createRoute({
  method: 'get',
  path: '/objectives',
  summary: 'List the objectives: the deployment’s, and those of single models',
  request: { query: z.strictObject(shortListFields) },
  responses: listAnswer(objectiveOut, 'All of them.'),
})
const put = createRoute({
  method: 'put',
  path: '/objectives',
  summary: 'Give a model an objective of its own; null takes it back',
  request: {
    body: bodyOf(z.strictObject({ model: z.string(), objective_percent: z.number().nullable() })),
  },
  responses: okAnswer(objectiveOut, 'What holds for the model now.'),
})

/** Without the noise of binary fractions. */
function percentOf(share: number): number {
  return Number((share * 100).toFixed(6))
}

function countsView(sums: SpanCounts) {
  const success = successOf(sums)
  const { answered, failed, apart } = sums
  return {
    answered,
    failed,
    received: receivedOf(sums),
    apart,
    success_percent: success === null ? null : percentOf(success),
  }
}

function measuredView(sums: SpanCounts, objective: number): z.infer<typeof measured> {
  const success = successOf(sums)
  return {
    ...countsView(sums),
    objective_percent: percentOf(objective),
    met: success === null ? null : success >= objective,
    budget_used_percent: success === null ? null : percentOf(burnOf(sums, objective)),
  }
}

interface Asked {
  readonly model: string | undefined
  readonly from: number
  readonly to: number
  readonly step: 'minute' | 'day'
}

const bounds = {
  minute: { ms: minuteMs, usualMs: 60 * minuteMs, mostMs: dayMs + minuteMs },
  day: { ms: dayMs, usualMs: 30 * dayMs, mostMs: 400 * dayMs },
} as const

function askedOf(
  query: { model?: string; from?: string; to?: string; step: 'minute' | 'day' },
  now: number,
): Asked {
  const { ms, usualMs, mostMs } = bounds[query.step]
  const end = msOf(query.to) ?? now
  const from = Math.floor((msOf(query.from) ?? end - usualMs) / ms) * ms
  const to = Math.ceil(end / ms) * ms
  if (from >= to) throw refuse('invalid_request', { param: 'from', message: 'from has to lie before to.' })
  if (to - from > mostMs) {
    const message = query.step === 'day' ? 'At most 400 days at once.' : 'By minute, at most one day at once.'
    throw refuse('invalid_request', { param: 'from', message })
  }
  return { model: query.model, from, to, step: query.step }
}

type Sums = ReadonlyMap<string, SpanCounts>

const nothing: SpanCounts = { answered: 0, failed: 0, apart: 0 }

async function burnWindows(desk: Desk, now: number): Promise<Map<number, Sums>> {
  const lengths = burnRules.flatMap(({ longMs, shortMs }) => [longMs, shortMs])
  const sums = await Promise.all(lengths.map((ms) => sumsSince(desk.house.db, now - ms)))
  return new Map(lengths.map((ms, index) => [ms, sums[index] ?? new Map()]))
}

function burnView(
  windows: ReadonlyMap<number, Sums>,
  model: string,
  terms: { readonly objective: number; readonly minimum: number },
) {
  return burnRules.map((rule) => {
    const long = windows.get(rule.longMs)?.get(model) ?? nothing
    const short = windows.get(rule.shortMs)?.get(model) ?? nothing
    return {
      rule: rule.name,
      long: `${rule.longMs / minuteMs}m`,
      long_burn: burnOf(long, terms.objective),
      short: `${rule.shortMs / minuteMs}m`,
      short_burn: burnOf(short, terms.objective),
      threshold: rule.burn,
      alerting: isBurning({ long, short }, rule, terms),
    }
  })
}

async function answerTo(desk: Desk, asked: Asked, now: number): Promise<z.infer<typeof availabilityOut>> {
  const { db, config, catalog } = desk.house
  const month = monthAround(now)
  const [spans, monthDays, windows, known] = await Promise.all([
    asked.step === 'day' ? daysOf(db, asked) : minutesOf(db, asked),
    daysOf(db, { model: asked.model, ...month }),
    burnWindows(desk, now),
    readObjectives(db, config.objectivePercent),
  ])
  const months = Map.groupBy(monthDays, ({ model }) => model)
  const spansBy = Map.groupBy(spans, ({ model }) => model)
  const offered = catalog.listed().filter(({ id }) => asked.model === undefined || asked.model === id)
  const models = [...new Set([...spansBy.keys(), ...offered.map(({ id }) => id)])].toSorted()
  const viewOf = (model: string, own: ModelSpan[], objective: number) => ({
    model,
    total: measuredView(sumOf(own), objective),
    month: { start: timeOf(month.from), ...measuredView(sumOf(months.get(model) ?? []), objective) },
    burn_rates: burnView(windows, model, { objective, minimum: config.incidentMinimum }),
    spans: own.map((one) => ({ start: timeOf(one.start), ...countsView(one) })),
  })
  return {
    from: timeOf(asked.from),
    to: timeOf(asked.to),
    step: asked.step,
    total: countsView(sumOf(spans)),
    data: models.map((model) => viewOf(model, spansBy.get(model) ?? [], objectiveFor(known, model))),
  }
}

function objectiveViews({ standard, own }: Objectives): z.infer<typeof objectiveOut>[] {
  const views = [...own].map(([model, objective]) => ({ model, objective_percent: percentOf(objective) }))
  return [
    { model: null, objective_percent: percentOf(standard) },
    ...views.toSorted((left, right) => (left.model < right.model ? -1 : 1)),
  ]
}

export function availabilityRoutes(desk: Desk): OpenAPIHono {
  const { db, config } = desk.house
  const app = new OpenAPIHono()
  app.openapi(read, async (c) => {
    const now = Date.now()
    return c.json(await answerTo(desk, askedOf(c.req.valid('query'), now), now), 200)
  })
  app.openapi(objectives, async (c) => {
    const data = objectiveViews(await readObjectives(db, config.objectivePercent))
    return c.json(
      shownOf(data, c.req.valid('query'), ({ model }) => model ?? ''),
      200,
    )
  })
  app.openapi(put, async (c) => {
    const { model, objective_percent: given } = c.req.valid('json')
    await setObjective(db, model, given, desk.by)
    const known = await readObjectives(db, config.objectivePercent)
    return c.json({ model, objective_percent: percentOf(objectiveFor(known, model)) }, 200)
  })
  return app
}
