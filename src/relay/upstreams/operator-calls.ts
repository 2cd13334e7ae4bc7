/** Calls of upstreams on behalf of operators: tests with one real, cheap call, and the list of an upstream's models. */
import type { Catalog, LiveUpstream } from '../../catalog/catalog.ts'
import { apiError, notFound } from '../../errors.ts'
import type { TestCallResult, UpstreamModels } from '../../health/upstream-tests.ts'
import { withAddedHeaders } from '../../providers/added-fields.ts'
import type { Provider } from '../../providers/provider.ts'
import { providerFor } from '../../providers/openai/spoken-apis.ts'
import { findProvider } from '../../providers/registry.ts'
import type { AttemptDeps } from '../request-context.ts'
import { encodingFor } from '../request/collected-encoding.ts'
import type { CallerRequest } from '../request/caller-format.ts'
import { observedMaximum } from '../observed-maximum.ts'
import type { UpstreamQuirks } from '../routing/rejected-fields.ts'
import type { UsageMeter } from '../streaming/usage-meter.ts'
import { readChatRequest } from '../request/request-body.ts'
import { singleCall, type AttemptCall } from '../routing/attempt-call.ts'
import type { AttemptResult } from '../routing/attempt-result.ts'
import { UpstreamAttempt } from '../routing/attempt.ts'
import { sendAuxiliaryRequest } from '../routing/auxiliary-request.ts'
import { chatRejection } from '../routing/responses-quirks.ts'
import { secretsOf } from '../routing/secrets.ts'
import { upstreamErrorFromResponse } from '../routing/upstream-error.ts'
import { upstreamErrorFromException } from '../routing/upstream-transport.ts'

function findUpstream(catalog: Catalog, id: string): { upstream: LiveUpstream; provider: Provider } {
  const upstream = catalog.upstream(id)
  const provider = findProvider(upstream?.provider ?? '')
  if (!upstream || !provider) throw notFound('Upstream')
  return { upstream, provider }
}

const checkRequest = { messages: [{ role: 'user', content: 'Answer with OK.' }], max_tokens: 16 }
/** The response is longer than the maximum, so that it shows whether the route obeys. The relay chooses between its names. */
const testRequest = {
  messages: [{ role: 'user', content: 'Write the numbers from one to fifty in words.' }],
  max_tokens: 16,
  max_completion_tokens: 16,
}

function modelOfAnyRoute(catalog: Catalog, upstreamId: string): string | null {
  for (const model of catalog.listed()) {
    if (!model.operations.includes('chat')) continue
    const route = model.routes.find((each) => each.upstream.id === upstreamId)
    if (route) return route.upstreamModel
  }
  return null
}

/** `model`: in the upstream's naming; `null`: that of any route to it, or, if there is none, a request for its list of models. */
export async function testUpstream(
  catalog: Catalog,
  context: TestContext,
  upstreamId: string,
  model: string | null,
): Promise<TestCallResult> {
  const { upstream, provider } = findUpstream(catalog, upstreamId)
  const name = model ?? modelOfAnyRoute(catalog, upstreamId)
  if (name === null && provider.buildModelListRequest?.(upstream)) {
    const startedAt = context.now()
    const { ok, status, message } = await fetchModels(catalog, context, upstreamId)
    return { ok, status, durationMs: context.now() - startedAt, message }
  }
  if (name === null) {
    throw apiError('invalid_request', {
      param: 'model',
      message: 'Specify a model of the upstream: no model has a route to it.',
    })
  }
  const { credential } = upstream
  const call = { upstream, provider, credential, model: name, isLong: true }
  const { attempt, result, request } = await runTestCall(context, call)
  const ok = result.kind === 'buffered'
  if (ok) observeTest(context, { upstream, model: name, request, meter: result.meter })
  const message = result.kind === 'error' ? result.error.message : 'The upstream responded.'
  return { ok, status: attempt.status, durationMs: attempt.ageMs, message }
}

/** The test shows whether the upstream's routes to the model obey a maximum. */
function observeTest({ quirks, now }: TestContext, { upstream, model, request, meter }: TestedRoute): void {
  const served = { request, route: { upstream, upstreamModel: model }, loweredMaximum: null }
  const state = observedMaximum(meter, { ...served, servedModel: testedModel })
  if (state === null) return
  quirks?.observeMaximum({ upstream_id: upstream.id, upstream_model: model, field: null, state, at: now() })
}

/** The request has a maximum of its own. */
const testedModel = { contextTokens: Infinity, maxOutputTokens: null }

interface TestedRoute {
  readonly upstream: LiveUpstream
  readonly model: string
  readonly request: CallerRequest
  readonly meter: UsageMeter
}

export interface TestContext extends AttemptDeps {
  /** Absent: no relay runs that could learn from the test. */
  readonly quirks?: Pick<UpstreamQuirks, 'observeMaximum'>
}

export interface TestCallOptions extends Pick<AttemptCall, 'provider' | 'credential' | 'model'> {
  readonly upstream: LiveUpstream
  /** How long the call may take. Default: the upstream's timeouts. */
  readonly maxDurationMs?: number
  /** As of `providerFor`. */
  readonly rejectsChat?: boolean
  /** Requests a text that is longer than the maximum, instead of one word. */
  readonly isLong?: boolean
}

interface TestCall {
  readonly attempt: UpstreamAttempt
  readonly result: AttemptResult
  readonly request: CallerRequest
}

/**
 * Requests one word, with a maximum of 16 output tokens; again through the Responses API if chat completions reject the
 * model. `onSend`: called with each attempt.
 */
export async function runTestCall(
  context: AttemptDeps,
  options: TestCallOptions,
  onSend?: (attempt: UpstreamAttempt) => void,
): Promise<TestCall> {
  const { provider, upstream, rejectsChat, model, isLong } = options
  const body = isLong ? testRequest : checkRequest
  const request = readChatRequest(Buffer.from(JSON.stringify({ model, ...body })))
  const attempt = sendTestCall(context, options, request)
  onSend?.(attempt)
  const result = await attempt.result
  const { settings } = upstream
  const isOther = result.kind === 'error' && chatRejection(result.error, { provider, settings }) !== null
  if (rejectsChat || !isOther) return { attempt, result, request }
  return runTestCall(context, { ...options, rejectsChat: true }, onSend)
}

function sendTestCall(
  context: AttemptDeps,
  options: TestCallOptions,
  request: CallerRequest,
): UpstreamAttempt {
  const { upstream, credential, model, maxDurationMs = Infinity, rejectsChat } = options
  const provider = providerFor(upstream, model, undefined, rejectsChat) ?? options.provider
  const { settings } = upstream
  const body = encodingFor(request, provider, { settings, maximumTokens: null })
  const call = { provider, body, model, credential, nowMs: context.now() }
  const attempt = new UpstreamAttempt(context, singleCall(upstream, call, maxDurationMs))
  attempt.send()
  return attempt
}

/** Some upstreams list thousands of models with long descriptions. */
const maxBytes = 16_777_216

const unavailable = (status: number | null, message: string): UpstreamModels => ({
  ok: false,
  status,
  message,
  models: [],
})

/** Fetches the list of an upstream's models. */
export async function fetchModels(
  catalog: Catalog,
  context: AttemptDeps,
  upstreamId: string,
): Promise<UpstreamModels> {
  const { upstream, provider } = findUpstream(catalog, upstreamId)
  const list = provider.buildModelListRequest?.(upstream)
  if (!list) return unavailable(null, `${provider.title} does not offer a list of models here.`)
  try {
    const { url } = list
    const headers = withAddedHeaders(list.headers, upstream.added)
    const request = { url, headers, body: [], method: 'GET', maxBytes } as const
    const response = await sendAuxiliaryRequest(context.client, request, upstream)
    if (response.status !== 200) {
      const about = { credential: secretsOf(upstream), now: context.now(), provider }
      return unavailable(
        response.status,
        upstreamErrorFromResponse({ ...response, errorType: null }, about).message,
      )
    }
    const models = parseModelNames(response.bytes, list.parseNames)
    if (models === null) return unavailable(200, 'The response is not a list of models.')
    return { ok: true, status: 200, message: `The upstream lists ${models.length} models.`, models }
  } catch (error) {
    return unavailable(null, upstreamErrorFromException(error).message)
  }
}

function parseModelNames(bytes: Buffer, namesOf: (body: unknown) => readonly string[]): string[] | null {
  try {
    return [...new Set(namesOf(JSON.parse(bytes.toString('utf8'))))].toSorted()
  } catch {
    return null
  }
}
