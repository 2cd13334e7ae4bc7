/**
 * The routes that take the restricted fields of a request (providers/restricted-fields.ts). The others are left out
 * before any money is held; if none is left, the request is rejected with 400 naming the field.
 */
import type { LiveUpstream, PricedModel } from '../../catalog/catalog.ts'
import { apiError, type ApiError } from '../../errors.ts'
import { tierFactor, type Price } from '../../ledger/price.ts'
import type { Restriction } from '../../providers/restricted-fields.ts'
import { findProvider, speaks } from '../../providers/registry.ts'
import { pricesImagesAlike, pricesTool } from '../request/hosted-tools.ts'
import type { RestrictedField } from '../request/restricted-fields.ts'

/** Whether the field may be sent to the upstream for a model of this price. */
export function takesField(
  field: RestrictedField,
  upstream: Pick<LiveUpstream, 'provider' | 'settings'>,
  price: Pick<Price, 'perSearch' | 'serviceTiers' | 'modality' | 'perToolCall'>,
): boolean {
  const { names, providers, restriction, tier, modality, tool } = field
  if (providers?.has(upstream.provider) === false) return true
  if (tool !== undefined && !speaksResponses(upstream)) return false
  if (tool !== undefined && pricesTool(price, tool)) return true
  if (tierFactor(price, tier) !== undefined) return true
  if (modality !== undefined && price.modality?.[modality] !== undefined) return true
  if (restriction === 'search' && (price.perSearch ?? null) !== null) return true
  const { allowedFields } = upstream.settings
  return allowedFields !== undefined && names.some((name) => allowedFields.includes(name))
}

/**
 * Leaves only those routes of the model and its fallbacks that take all of the fields. Throws 400 naming a field if it
 * leaves out the last one.
 */
export function restrictRoutes(
  context: { model: PricedModel; fallbacks: readonly PricedModel[] },
  fields: readonly RestrictedField[],
): void {
  const makesImages = fields.some(({ tool }) => tool?.image !== undefined)
  const alike = makesImages
    ? context.fallbacks.filter(({ price }) => pricesImagesAlike(price, context.model.price))
    : context.fallbacks
  const models = [context.model, ...alike]
  const [model = context.model, ...fallbacks] = models.map((each) => withRoutesThatTake(fields, each))
  const isLost = [model, ...fallbacks].every(({ routes }) => routes.length === 0)
  if (isLost && models.some(({ routes }) => routes.length > 0))
    throw restrictedFieldError(fieldThatNoneTakes(fields, models))
  context.model = model
  context.fallbacks = fallbacks
}

function withRoutesThatTake(fields: readonly RestrictedField[], model: PricedModel): PricedModel {
  const { price } = model
  const routes = model.routes.filter(({ upstream }) =>
    fields.every((field) => takesField(field, upstream, price)),
  )
  return routes.length === model.routes.length ? model : { ...model, routes }
}

function fieldThatNoneTakes(
  fields: readonly RestrictedField[],
  models: readonly PricedModel[],
): RestrictedField {
  const isTaken = (field: RestrictedField): boolean =>
    models.some(({ price, routes }) => routes.some(({ upstream }) => takesField(field, upstream, price)))
  return fields.find((field) => !isTaken(field)) ?? (fields[0] as RestrictedField)
}

const reasons: Readonly<Record<Restriction, string>> = {
  maximum:
    'only some engines know it. Use `max_tokens` or `max_completion_tokens` for the maximum of output tokens',
  service:
    'it can choose another model or a more expensive service, which the price of this model does not cover. Remove it',
  state:
    'this API keeps no state at the provider, and does not pay for it. Send the whole conversation in `messages`',
  search: 'this model has no price for web searches. Remove it',
}

/** Anthropic's libraries continue without threads when they find this error code. */
const threadDetails = { details: { error_code: 'thread_unsupported_request' } }

export function speaksResponses({
  provider,
  settings,
}: Pick<LiveUpstream, 'provider' | 'settings'>): boolean {
  const known = findProvider(provider)
  return known !== undefined && speaks('responses', known, settings)
}

function reasonFor({ restriction, tool }: RestrictedField): string {
  return tool?.image
    ? 'this model has no price for images of this quality and size. Name ones that have a price, or remove it'
    : reasons[restriction]
}

function remedyFor({ restriction, tier, modality, tool }: RestrictedField): string {
  if (tool !== undefined) return `The operator can set a price per call (\`per_tool_call.${tool.name}\`).`
  if (restriction === 'search') return 'The operator can set a price per search (`per_search`).'
  if (tier !== undefined) return 'The operator can set a factor for the tier (`service_tiers` of the prices).'
  if (modality !== undefined) return 'The operator can set a price for audio (`output_audio`).'
  return 'The operator can allow it in `allowed_fields` of the upstream.'
}

function restrictedFieldError(field: RestrictedField): ApiError {
  const { param } = field
  const remedy = remedyFor(field)
  const message = `Invalid \`${param}\`: ${reasonFor(field)}. ${remedy}`
  return apiError('invalid_request', { param, message, ...(param === 'thread' ? threadDetails : {}) })
}
