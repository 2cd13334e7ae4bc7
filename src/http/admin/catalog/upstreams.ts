/** `/upstreams`: where models are served. The credential goes in and never comes out. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import {
  defaultTimeouts,
  type UpstreamCosts,
  type UpstreamPatch,
  type UpstreamRules,
} from '../../../catalog/upstream-fields.ts'
import {
  createUpstream,
  deleteUpstream,
  listUpstreams,
  updateUpstream,
  upstreamById,
  type Upstream,
} from '../../../catalog/upstreams.ts'
import { refuse } from '../../../errors.ts'
import { checkUpstreamUrl, parseCidrs } from '../../../lib/address-guard.ts'
import { providerNames, providerOf } from '../../../providers/registry.ts'
import { announced, type Desk } from '../desk.ts'
import {
  bodyOf,
  costsIn,
  createdAnswer,
  gone,
  idPath,
  listAnswer,
  okAnswer,
  priceInputOf,
  priceInputView,
  pricesOut,
  time,
  timeOf,
} from '../schemas.ts'
import { shortListFields, shownOf } from '../short-lists.ts'

const timeoutIn = z.int().nullish()
const patchFields = {
  name: z.string().optional(),
  provider: z
    .string()
    .optional()
    .meta({ description: 'The dialect it is spoken to in.', example: 'openai-compatible' }),
  base_url: z.string().optional().meta({ description: 'May be left out where the provider has one.' }),
  credential: z.string().optional(),
  proxy: z.string().nullish().meta({
    description:
      'Calls go through it: http:// or https:// (CONNECT), socks5:// or socks5h://, with a login where wanted.',
    example: 'socks5h://user:password@proxy.example:1080',
  }),
  priority: z.int().optional().meta({ description: 'Lower is tried first.' }),
  weight: z.int().optional(),
  prices: costsIn.nullish(),
  timeouts: z
    .strictObject({
      connect_ms: timeoutIn,
      first_token_ms: timeoutIn,
      idle_ms: timeoutIn,
      answer_ms: timeoutIn,
    })
    .optional()
    .meta({ description: 'null is the default.' }),
  on_abort: z.enum(['cancel', 'drain']).optional(),
  enabled: z.boolean().optional(),
  health_check_ms: z.int().nullish().meta({
    description: 'How often it is asked something small when nobody else asks it; null is never.',
  }),
  settings: z
    .strictObject({
      maximum_field: z.enum(['max_tokens', 'max_completion_tokens']).optional().meta({
        description: 'Under which name a maximum of output tokens is sent when the caller gave none.',
      }),
    })
    .optional(),
}
const upstreamPatch = z.strictObject(patchFields)
const upstreamIn = z.strictObject({
  ...patchFields,
  name: z.string(),
  provider: z.string(),
  credential: z.string().meta({ description: 'May be empty where none is needed. Never returned.' }),
})

export const upstreamOut = z
  .object({
    id: z.string(),
    name: z.string(),
    provider: z.string(),
    base_url: z.string(),
    proxy: z.string().nullable(),
    priority: z.int(),
    weight: z.int(),
    prices: pricesOut.extend({ currency: z.string().nullable(), rate: z.string() }).nullable(),
    timeouts: z.object({
      connect_ms: z.int(),
      first_token_ms: z.int(),
      idle_ms: z.int(),
      answer_ms: z.int(),
    }),
    on_abort: z.enum(['cancel', 'drain']),
    enabled: z.boolean(),
    health_check_ms: z.int().nullable(),
    last_four: z.string().nullable().meta({ description: 'Of its credential.' }),
    settings: z.object({ maximum_field: z.string().optional() }),
    created_at: time,
    updated_at: time,
  })
  .openapi('Upstream')

function upstreamView(upstream: Upstream): z.infer<typeof upstreamOut> {
  const timeouts = { ...defaultTimeouts, ...upstream.timeouts }
  const { prices } = upstream
  return {
    id: upstream.id,
    name: upstream.name,
    provider: upstream.provider,
    base_url: upstream.baseUrl,
    proxy: upstream.proxy,
    priority: upstream.priority,
    weight: upstream.weight,
    prices:
      prices === null
        ? null
        : { ...priceInputView(prices), currency: prices.currency ?? null, rate: prices.rate ?? '1' },
    timeouts: {
      connect_ms: timeouts.connectMs,
      first_token_ms: timeouts.firstTokenMs,
      idle_ms: timeouts.idleMs,
      answer_ms: timeouts.answerMs,
    },
    on_abort: upstream.onAbort,
    enabled: upstream.enabled,
    health_check_ms: upstream.healthCheckMs,
    last_four: upstream.lastFour,
    settings: { maximum_field: upstream.settings.maximumField },
    created_at: timeOf(upstream.createdAt),
    updated_at: timeOf(upstream.updatedAt),
  }
}

function providerNamed(name: string): string {
  if (providerNames.includes(name)) return name
  const message = `provider has to be one of ${providerNames.join(', ')}.`
  throw refuse('invalid_request', { param: 'provider', message })
}

function costsOf(given: z.infer<typeof costsIn>): UpstreamCosts {
  const { currency, rate, ...prices } = given
  return { ...priceInputOf(prices), currency, rate }
}

function patchOf(given: z.infer<typeof upstreamPatch>): UpstreamPatch {
  const { prices, timeouts, settings } = given
  return {
    name: given.name,
    provider: given.provider === undefined ? undefined : providerNamed(given.provider),
    baseUrl: given.base_url,
    credential: given.credential,
    proxy: given.proxy,
    priority: given.priority,
    weight: given.weight,
    prices: prices === undefined || prices === null ? prices : costsOf(prices),
    timeouts: timeouts && {
      connectMs: timeouts.connect_ms,
      firstTokenMs: timeouts.first_token_ms,
      idleMs: timeouts.idle_ms,
      answerMs: timeouts.answer_ms,
    },
    onAbort: given.on_abort,
    enabled: given.enabled,
    healthCheckMs: given.health_check_ms,
    settings: settings && { maximumField: settings.maximum_field },
  }
}

/** The address as given, else the provider's own. */
function baseUrlOf(given: z.infer<typeof upstreamIn>): string {
  const baseUrl = given.base_url ?? providerOf(given.provider)?.baseUrl
  if (typeof baseUrl === 'string') return baseUrl
  throw refuse('invalid_request', {
    param: 'base_url',
    message: 'base_url is missing: this provider has none of its own.',
  })
}

const create = createRoute({
  method: 'post',
  path: '/upstreams',
  summary: 'Add an upstream',
  request: { body: bodyOf(upstreamIn) },
  responses: createdAnswer(upstreamOut, 'The upstream, without its credential.'),
})
const list = createRoute({
  method: 'get',
  path: '/upstreams',
  summary: 'List upstreams, first tried first',
  request: { query: z.strictObject(shortListFields) },
  responses: listAnswer(upstreamOut, 'All upstreams.'),
})
const read = createRoute({
  method: 'get',
  path: '/upstreams/{id}',
  summary: 'Read an upstream by its id or name',
  request: { params: idPath },
  responses: okAnswer(upstreamOut, 'The upstream.'),
})
const update = createRoute({
  method: 'patch',
  path: '/upstreams/{id}',
  summary: 'Change the fields given',
  request: { params: idPath, body: bodyOf(upstreamPatch) },
  responses: okAnswer(upstreamOut, 'The upstream as it is now.'),
})
const remove = createRoute({
  method: 'delete',
  path: '/upstreams/{id}',
  summary: 'Delete an upstream that no model is routed to',
  request: { params: idPath },
  responses: okAnswer(gone, 'It is gone.'),
})
/** By id or name. Refuses with 404. */
export async function knownUpstream({ house }: Desk, idOrName: string): Promise<Upstream> {
  const upstream = await upstreamById(house.db, idOrName, house.sealer)
  if (upstream === undefined) throw refuse('not_found', { message: 'There is no such upstream.' })
  return upstream
}

export function upstreamRoutes(desk: Desk): OpenAPIHono {
  const { db, config, sealer } = desk.house
  const allow = parseCidrs(config.upstreamAllow.join(','))
  const rules: UpstreamRules = {
    by: desk.by,
    sealer,
    checkUrl: (url) => checkUpstreamUrl(url, allow),
  }

  const known = (idOrName: string): Promise<Upstream> => knownUpstream(desk, idOrName)

  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const given = c.req.valid('json')
    const provider = providerNamed(given.provider)
    const { name, credential } = given
    const input = { ...patchOf(given), name, credential, provider, baseUrl: baseUrlOf(given) }
    return c.json(upstreamView(await announced(desk, createUpstream(db, input, rules))), 201)
  })
  app.openapi(list, async (c) => {
    const upstreams = (await listUpstreams(db, sealer)).map(upstreamView)
    return c.json(
      shownOf(upstreams, c.req.valid('query'), ({ id }) => id),
      200,
    )
  })
  app.openapi(read, async (c) => c.json(upstreamView(await known(c.req.valid('param').id)), 200))
  app.openapi(update, async (c) => {
    const { id } = await known(c.req.valid('param').id)
    const patch = patchOf(c.req.valid('json'))
    return c.json(upstreamView(await announced(desk, updateUpstream(db, id, patch, rules))), 200)
  })
  app.openapi(remove, async (c) => {
    const { id } = await known(c.req.valid('param').id)
    await announced(desk, deleteUpstream(db, id, desk.by))
    return c.json({ id, deleted: true as const }, 200)
  })
  return app
}
