/**
 * The routes for requests that need state at a provider: those that can store the response, or the one whose credential
 * holds the response that is continued. Such a request is never sent anywhere else.
 */
import type { LiveRoute, PricedModel } from '../../catalog/catalog.ts'
import type { ResponsePinsTable } from '../../db/schema/schema.ts'
import { apiError, type ApiError } from '../../errors.ts'
import type { CallerRequest } from '../request/caller-format.ts'
import { speaksResponses } from './restricted-routes.ts'

type Pin = Pick<ResponsePinsTable, 'upstream_id' | 'credential_id'>

/** Routes with one of several credentials, each created once: the statistics of routes are kept by object. */
const narrowed = new WeakMap<LiveRoute, Map<string, LiveRoute>>()

/** The route of the model to the credential that holds the response; `undefined`: there is none any more. */
export function routeToHolder({ routes }: Pick<PricedModel, 'routes'>, pin: Pin): LiveRoute | undefined {
  const route = routes.find(({ upstream }) => upstream.id === pin.upstream_id && speaksResponses(upstream))
  const credential = route?.upstream.credentials.find(({ id }) => id === pin.credential_id)
  if (!route || !credential || route.upstream.credentials.length === 1) return credential && route
  const known = narrowed.get(route) ?? new Map<string, LiveRoute>()
  narrowed.set(route, known)
  const existing = known.get(credential.id)
  if (existing) return existing
  const created = { ...route, upstream: { ...route.upstream, credentials: [credential] } }
  known.set(credential.id, created)
  return created
}

export function previousNotFound(id: string): ApiError {
  const message = `No response with the id ${JSON.stringify(id.slice(0, 100))} is stored for this account. Send the whole conversation in \`input\`.`
  return apiError('previous_response_not_found', { param: 'previous_response_id', message })
}

/**
 * Leaves only the routes that serve the request. Throws 400 naming the field if there is none. Fallbacks are other models,
 * which a later request for this model could not continue.
 */
export function keepStoringRoutes(
  context: { model: PricedModel; fallbacks: readonly PricedModel[] },
  { previous, store }: Pick<CallerRequest, 'previous' | 'store'>,
): void {
  if (!previous && !store) return
  const { model } = context
  context.fallbacks = []
  if (!previous) {
    context.model = { ...model, routes: model.routes.filter(({ upstream }) => speaksResponses(upstream)) }
    if (context.model.routes.length > 0 || model.routes.length === 0) return
    const message =
      'Invalid `store`: no provider of this model can store responses. Remove it, and send the whole conversation in `input`.'
    throw apiError('invalid_request', { param: 'store', message })
  }
  const route = routeToHolder(model, previous)
  if (!route) throw previousNotFound(previous.response_id)
  context.model = { ...model, routes: [route] }
}
