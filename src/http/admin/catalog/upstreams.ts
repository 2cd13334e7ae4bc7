/** `/upstreams`: the provider endpoints that serve models. Responses never contain a credential. */
import { z } from '@hono/zod-openapi'
import { admin, confirmationRule, requireConfirmation, type AdminContext } from '../admin-context.ts'
import { fieldsOf } from '../../../db/row-fields.ts'
import { jsonFields } from '../../api/json-fields.ts'
import { view } from '../../api/define-endpoints.ts'
import type { AppContext } from '../../app-context.ts'
import {
  priceColumns,
  costsInput,
  costsSchema,
  perTimeout,
  serializeCosts,
  time,
  timeoutsInput,
  toUpstreamCosts,
} from '../schemas.ts'
import { defaultTimeouts } from '../../../catalog/timeouts.ts'
import type { UpstreamPatch, UpstreamContext } from '../../../catalog/upstream-fields.ts'
import {
  createUpstream,
  deleteUpstream,
  listUpstreams,
  updateUpstream,
  upstreamById,
  type Upstream,
} from '../../../catalog/upstreams.ts'
import { apiError } from '../../../errors.ts'
import { upstreamUrlProblem, parseCidrs } from '../../../lib/address-guard.ts'
import { spokenApis } from '../../../providers/provider.ts'
import { providerNames, findProvider } from '../../../providers/registry.ts'

const maximumFieldInput = z.enum(['max_tokens', 'max_completion_tokens'])

const patchFields = {
  name: z.string().optional(),
  provider: z
    .string()
    .optional()
    .meta({ description: 'The provider, which determines the API format.', example: 'openai-compatible' }),
  base_url: z
    .string()
    .optional()
    .meta({ description: 'Optional if the provider has a documented base URL.' }),
  credential: z.string().optional(),
  proxy: z.string().nullish().meta({
    description:
      'A proxy for all calls: http:// or https:// (CONNECT), socks5:// or socks5h://, optionally with user name and password.',
    example: 'socks5h://user:password@proxy.example:1080',
  }),
  priority: z.int().optional().meta({ description: 'Lower values are tried first.' }),
  weight: z.int().optional(),
  prices: costsInput.nullish(),
  timeouts: timeoutsInput.optional().meta({ description: 'null: the default.' }),
  on_abort: z.enum(['cancel', 'drain']).optional(),
  collect_stream: z.boolean().optional().meta({
    description:
      'Ask for non-streaming responses as streams and collect them, so that the timeouts and the failover of streams apply.',
  }),
  enabled: z.boolean().optional(),
  health_check_ms: z.int().nullish().meta({
    description: 'How often to send a small health-check request while there is no traffic; null: never.',
  }),
  max_tokens_field: maximumFieldInput.nullish().meta({
    description:
      'The field for the maximum of output tokens where the relay chooses it: the caller named none, or both. null: the provider’s own.',
  }),
  allowed_fields: z
    .array(z.string())
    .nullish()
    .meta({
      description:
        'Fields that callers may send though they can choose another maximum, model or service: names or paths of fields, types of hosted tools without their date, and names of betas. At most 50.',
      example: ['service_tier', 'code_execution'],
    }),
  speaks: z
    .array(z.enum(spokenApis))
    .nullish()
    .meta({
      description:
        'The APIs that the upstream speaks beside chat completions; requests of their format pass through to it. null: what its provider does.',
      example: ['responses'],
    }),
  headers: z
    .record(z.string(), z.string())
    .nullish()
    .meta({
      description:
        'Headers that are added to every request; they replace the relay’s own. Stored encrypted and never returned; null or {}: none.',
      example: { 'http-referer': 'https://relay.example' },
    }),
  body: z
    .record(z.string(), z.unknown())
    .nullish()
    .meta({
      description:
        'Fields that are added to the JSON of every request that does not have them. null or {}: none.',
      example: { provider: { data_collection: 'deny' } },
    }),
  settings: z
    .strictObject({ maximum_field: maximumFieldInput.optional() })
    .optional()
    .meta({ description: 'The old name of `max_tokens_field`.', deprecated: true }),
}
const upstreamPatch = z.strictObject(patchFields)
const upstreamInput = z.strictObject({
  ...patchFields,
  name: z.string(),
  provider: z.string(),
  credential: z.string().meta({ description: 'Can be empty if the upstream needs none. Never returned.' }),
})

export const upstreamSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    provider: z.string(),
    base_url: z.string(),
    proxy: z.string().nullable(),
    priority: z.int(),
    weight: z.int(),
    prices: costsSchema.nullable().meta({
      description: 'The costs of routes without a `cost`, if this upstream serves only one model.',
    }),
    timeouts: z.object(perTimeout(z.int())),
    on_abort: z.enum(['cancel', 'drain']),
    collect_stream: z.boolean(),
    enabled: z.boolean(),
    health_check_ms: z.int().nullable(),
    last_four: z.string().nullable().meta({ description: 'The last four characters of the credential.' }),
    max_tokens_field: z.string().nullable().meta({ description: 'null: the provider’s own.' }),
    allowed_fields: z.array(z.string()),
    speaks: z.array(z.enum(spokenApis)),
    header_names: z.array(z.string()).meta({ description: 'Of the headers that are added.' }),
    body: z.record(z.string(), z.unknown()).meta({ description: 'What is added to requests.' }),
    settings: z
      .object({ maximum_field: z.string().optional() })
      .meta({ description: 'The old name of `max_tokens_field`.', deprecated: true }),
    created_at: time,
    updated_at: time,
  })
  .openapi('Upstream')

const upstreamView = view('upstream', upstreamSchema, ({ settings, ...upstream }: Upstream) => ({
  ...jsonFields(upstream),
  header_names: [...upstream.headerNames],
  body: upstream.body,
  collect_stream: settings.collectStream ?? false,
  max_tokens_field: settings.maximumField ?? null,
  allowed_fields: [...(settings.allowedFields ?? [])],
  speaks: [...(settings.speaks ?? findProvider(upstream.provider)?.speaks ?? [])],
  settings: settings.maximumField === undefined ? {} : { maximum_field: settings.maximumField },
  prices: serializeCosts(upstream.prices),
  timeouts: jsonFields({ ...defaultTimeouts, ...upstream.timeouts }),
}))

function requireProviderName(name: string): string {
  if (providerNames.includes(name)) return name
  const message = `Invalid \`provider\`: must be one of ${providerNames.join(', ')}.`
  throw apiError('invalid_request', { param: 'provider', message })
}

/** The old `settings` replace the field that they name, or remove it. */
function toSettingsPatch({
  settings,
  max_tokens_field: field = settings && (settings.maximum_field ?? null),
  allowed_fields: allowedFields,
  collect_stream: collectStream,
  speaks,
}: z.infer<typeof upstreamPatch>): UpstreamPatch['settings'] {
  const old = settings?.maximum_field
  if (old !== undefined && old !== field) {
    const message = 'Invalid `max_tokens_field`: differs from `settings.maximum_field`, its old name.'
    throw apiError('invalid_request', { param: 'max_tokens_field', message })
  }
  const patch = {
    ...(field === undefined ? {} : { maximumField: field }),
    ...(allowedFields === undefined ? {} : { allowedFields }),
    ...(collectStream === undefined ? {} : { collectStream: collectStream || null }),
    ...(speaks === undefined ? {} : { speaks: speaks && [...new Set(speaks)] }),
  }
  return Object.keys(patch).length === 0 ? undefined : patch
}

function toUpstreamPatch(body: z.infer<typeof upstreamPatch>): UpstreamPatch {
  const { provider, prices, timeouts, settings: _old, max_tokens_field: _field, ...others } = body
  const { allowed_fields: _names, collect_stream: _collect, speaks: _speaks, ...rest } = others
  return {
    ...fieldsOf(rest),
    provider: provider === undefined ? undefined : requireProviderName(provider),
    prices: prices && toUpstreamCosts(prices),
    timeouts: timeouts && fieldsOf(timeouts),
    settings: toSettingsPatch(body),
  }
}

/** The given base URL, or else the one of the provider. */
function resolveBaseUrl(body: z.infer<typeof upstreamInput>): string {
  const baseUrl = body.base_url ?? findProvider(body.provider)?.baseUrl
  if (typeof baseUrl === 'string') return baseUrl
  throw apiError('invalid_request', {
    param: 'base_url',
    message: 'Missing required field: base_url. This provider has no default.',
  })
}

/** Finds an upstream by id or name. Throws 404 if there is none. */
export async function requireUpstream({ db, sealer }: AppContext, idOrName: string): Promise<Upstream> {
  const upstream = await upstreamById(db, idOrName, sealer)
  if (upstream === undefined) throw apiError('not_found', { message: 'Upstream not found.' })
  return upstream
}

function rulesOf(context: AdminContext): UpstreamContext {
  const { sealer, config } = context.ctx
  const allow = parseCidrs(config.upstreamAllow.join(','))
  return {
    by: context.by,
    sealer,
    checkUrl: (url) => upstreamUrlProblem(url, allow, 'UPSTREAM_ALLOW'),
    authorizeNewDestination: () => requireConfirmation(context),
  }
}

export const upstreamEndpoints = [
  admin.create('/upstreams', {
    summary: 'Create an upstream',
    description: `It ${confirmationRule}`,
    body: upstreamInput,
    response: upstreamView,
    returns: 'The upstream, without its credential.',
    handle(context) {
      const { ctx, body, publish } = context
      const provider = requireProviderName(body.provider)
      const { name, credential } = body
      const input = { ...toUpstreamPatch(body), name, credential, provider, baseUrl: resolveBaseUrl(body) }
      return publish(createUpstream(ctx.db, input, rulesOf(context)))
    },
  }),
  admin.list('/upstreams', {
    summary: 'List upstreams by priority',
    item: upstreamView,
    idOf: ({ id }) => id,
    csv: [
      'id',
      'name',
      'provider',
      'base_url',
      'enabled',
      'priority',
      'weight',
      ...priceColumns,
      {
        name: 'currency',
        valueOf: ({ prices }, { currency }) => prices && (prices.currency ?? currency),
      },
      'prices.rate',
      'health_check_ms',
      'created_at',
      'updated_at',
    ],
    handle: ({ ctx }) => listUpstreams(ctx.db, ctx.sealer),
  }),
  admin.get('/upstreams/{id}', {
    summary: 'Get an upstream by id or name',
    response: upstreamView,
    handle: ({ ctx, params }) => requireUpstream(ctx, params.id),
  }),
  admin.patch('/upstreams/{id}', {
    summary: 'Update an upstream',
    description: `A new origin (scheme, host or port of \`base_url\`), provider or proxy deletes all stored credentials and headers, except a \`credential\` and \`headers\` sent in the same call, and ${confirmationRule}`,
    body: upstreamPatch,
    response: upstreamView,
    async handle(context) {
      const { ctx, params, body, publish } = context
      const { id } = await requireUpstream(ctx, params.id)
      return publish(updateUpstream(ctx.db, id, toUpstreamPatch(body), rulesOf(context)))
    },
  }),
  admin.delete('/upstreams/{id}', {
    summary: 'Delete an upstream that no model is routed to',
    async handle({ ctx, by, params, publish }) {
      const { id } = await requireUpstream(ctx, params.id)
      await publish(deleteUpstream(ctx.db, id, by))
      return id
    },
  }),
]
