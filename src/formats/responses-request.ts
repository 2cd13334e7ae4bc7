/**
 * Translates a request in OpenAI's Responses format into the OpenAI format of chat completions, as far as a provider
 * supports it. Hints without a counterpart (verbosity, truncation) are dropped; what changes the response is
 * rejected by name, so that another upstream may serve the request.
 */
import { getNumber, getObject, getString, omitUndefined, type Json } from '../providers/json-fields.ts'
import { UnsupportedFeatureError } from '../providers/provider.ts'
import type { ProviderCapabilities } from './provider-capabilities.ts'
import { translateInput } from './responses-conversation.ts'
import { translateTools } from './responses-tools.ts'

function translateFormat(request: Json): Json | undefined {
  const format = getObject(getObject(request, 'text') ?? {}, 'format')
  switch (format?.['type']) {
    case undefined:
    case 'text':
      return undefined
    case 'json_object':
      return { type: 'json_object' }
    case 'json_schema': {
      const { name, description, schema, strict } = format
      const about = { name: name ?? 'response', description: description ?? undefined, schema }
      const strictness = typeof strict === 'boolean' ? strict : undefined
      return { type: 'json_schema', json_schema: omitUndefined({ ...about, strict: strictness }) }
    }
    default:
      throw new UnsupportedFeatureError('text.format', 'must be "text", "json_object" or "json_schema"')
  }
}

/** How much to think, in the fields that the provider supports. */
function translateReasoning(request: Json, { thinking }: ProviderCapabilities): Json {
  const effort = getString(getObject(request, 'reasoning') ?? {}, 'effort')
  if (effort === undefined) return {}
  const isOn = effort !== 'none'
  switch (thinking) {
    case 'all':
    case 'effort':
      return { reasoning_effort: effort }
    case 'reasoning':
      return { reasoning: isOn ? { effort } : { enabled: false } }
    case 'switch':
      return { thinking: { type: isOn ? 'enabled' : 'disabled' } }
    case 'enable':
      return { enable_thinking: isOn }
    case 'none':
      return {}
  }
}

function rejectUnsupported(request: Json): void {
  const { include } = request
  const wantsLogprobs = Array.isArray(include) && include.includes('message.output_text.logprobs')
  if (wantsLogprobs)
    throw new UnsupportedFeatureError('include', 'log probabilities are not supported by this provider')
  if ((getNumber(request, 'top_logprobs') ?? 0) > 0)
    throw new UnsupportedFeatureError('top_logprobs', 'not supported by this provider')
}

/** Translates the request; the model's name is the caller's. Throws `UnsupportedFeatureError` naming the field. */
export function translateResponsesRequest(request: Json, capabilities: ProviderCapabilities): Json {
  rejectUnsupported(request)
  const tier = getString(request, 'service_tier')
  return omitUndefined({
    model: request['model'],
    messages: translateInput(request, capabilities),
    max_tokens: getNumber(request, 'max_output_tokens'),
    ...translateTools(request),
    ...translateReasoning(request, capabilities),
    response_format: translateFormat(request),
    temperature: getNumber(request, 'temperature'),
    top_p: getNumber(request, 'top_p'),
    presence_penalty: getNumber(request, 'presence_penalty'),
    frequency_penalty: getNumber(request, 'frequency_penalty'),
    user: capabilities.user ? getString(request, 'user') : undefined,
    prompt_cache_key: capabilities.promptCacheKey ? getString(request, 'prompt_cache_key') : undefined,
    service_tier: tier === 'auto' || tier === 'default' ? undefined : tier,
    stream: request['stream'] === true ? true : undefined,
  })
}
