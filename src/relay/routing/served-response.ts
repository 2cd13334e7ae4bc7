/**
 * What an upstream says about its response: the model that wrote it, the response's id, and the version of what served
 * it. Operators compare the model with the one they route to, and name the id in tickets with the provider.
 */
import type { LiveRoute } from '../../catalog/catalog.ts'
import type { RequestOutcome } from '../../ledger/request-row.ts'
import { toBoundedText } from '../../lib/valid-text.ts'
import { getString, isObject } from '../../providers/json-fields.ts'
import { isSameModel } from '../../providers/model-names.ts'
import type { ResponseIdentity } from '../../providers/provider.ts'
import { findProvider } from '../../providers/registry.ts'
import type { AttemptRecord } from './attempt-record.ts'
import { redactSecrets } from './secrets.ts'

export type ServedResponse = Required<
  Pick<RequestOutcome, 'modelServed' | 'providerResponseId' | 'fingerprint'>
>

/** An upstream has responded with another model than its route asks for. */
export interface ModelMismatch {
  /** The caller's model. */
  readonly model: string
  /** The upstream's id. */
  readonly upstream: string
  readonly asked: string
  readonly served: string
}

/** A response ended with a finish reason that its provider does not document. */
export interface UnknownFinish {
  /** The caller's model. */
  readonly model: string
  /** The upstream's id. */
  readonly upstream: string
  /** The upstream's name for the model. */
  readonly asked: string
  readonly reason: string
}

export function findUnknownFinish(
  { model, finish }: Pick<RequestOutcome, 'model' | 'finish'>,
  route: LiveRoute | null,
): UnknownFinish | null {
  if (!route || finish === null) return null
  return { model, upstream: route.upstream.id, asked: route.upstreamModel, reason: finish }
}

const nothingServed: ServedResponse = { modelServed: null, providerResponseId: null, fingerprint: null }

/** Of values from upstreams, in characters. */
const maxLength = 256

/** The identity in a response or chunk of the OpenAI format; `null`: it names neither its id nor its model. */
export function identityIn(json: unknown): ResponseIdentity | null {
  if (!isObject(json)) return null
  const id = getString(json, 'id')
  const model = getString(json, 'model')
  return id || model ? { id, model, fingerprint: getString(json, 'system_fingerprint') } : null
}

function boundedText(text: string | undefined): string | null {
  return text ? toBoundedText(text, maxLength) : null
}

/** The identity as it is stored. */
export function servedResponse(
  { id, model, fingerprint }: ResponseIdentity,
  secrets: string,
): ServedResponse {
  const served = {
    modelServed: boundedText(model),
    providerResponseId: boundedText(id),
    fingerprint: boundedText(fingerprint),
  }
  // Nothing of an upstream that repeats our credential is stored.
  const all = Object.values(served).join('\n')
  return redactSecrets(all, secrets) === all ? served : nothingServed
}

/** The response's model, if it is not the one that the route asks for. */
function findMismatch(model: string, route: LiveRoute, served: string | null): ModelMismatch | null {
  const { upstream, upstreamModel: asked } = route
  if (served === null || isSameModel(asked, served)) return null
  if (findProvider(upstream.provider)?.namesDeployments) return null
  return { model, upstream: upstream.id, asked, served }
}

interface Responded {
  readonly hasResponse: boolean
  readonly route: LiveRoute | null
  readonly attempt: { readonly served: ServedResponse } | null
  readonly attempts: readonly AttemptRecord[]
}

/** What the upstream says about the response to a request for `model`. Notes in its record if the caller may know it. */
export function describeResponse(
  { hasResponse, route, attempt, attempts }: Responded,
  model: string,
): { readonly served: ServedResponse; readonly mismatch: ModelMismatch | null } {
  if (!hasResponse || !route || !attempt) return { served: nothingServed, mismatch: null }
  const { served } = attempt
  const { modelServed } = served
  const record = attempts.at(-1)
  if (record && modelServed !== null && modelServed !== model && route.returnedModel === null)
    record.model_exposed = true
  return { served, mismatch: findMismatch(model, route, modelServed) }
}
