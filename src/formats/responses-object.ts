/**
 * The response object of OpenAI's Responses API, with every field that its clients and Open Responses' schema expect:
 * the settings of the request, or their defaults.
 */
import { newId } from '../lib/ids.ts'
import { getNumber, getObject, getObjects, getString, type Json } from '../providers/json-fields.ts'
import { finishClassOf } from '../providers/finish-reasons.ts'
import type { TokenUsage } from '../providers/usage.ts'
import { isOptionalSearch } from './responses-tools.ts'

/** What the translation of a response needs to know. */
export interface ResponsesContext {
  /** The provider of the response. */
  readonly provider: string
  /** The caller's request, in the Responses format. */
  readonly request: Json
  /** Of a compaction: seals the summary for its account. */
  readonly seal?: (summary: string) => string
}

/** How a response ended. */
export type ResponseEnding =
  | { readonly status: 'completed' }
  | { readonly status: 'incomplete'; readonly reason: string }
  | { readonly status: 'failed'; readonly code: string; readonly message: string }

/** Usage in the Responses format; both details are always present, since clients depend on them. */
export function serializeResponsesUsage(usage: TokenUsage): Json {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cachedInput, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
  }
}

function encodeFunction(tool: Json): Json {
  const { name, description = null, parameters = null, strict } = tool
  return { ...tool, type: 'function', name, description, parameters, strict: strict === true }
}

/** The tools of the request, without searches that were left out. */
function encodeTools(request: Json): Json[] {
  return getObjects(request, 'tools')
    .filter((tool) => !isOptionalSearch(tool, request))
    .map((tool) => (tool['type'] === 'function' ? encodeFunction(tool) : tool))
}

function encodeText(request: Json): Json {
  const text = getObject(request, 'text') ?? {}
  const format = getObject(text, 'format') ?? { type: 'text' }
  const verbosity = getString(text, 'verbosity')
  const { name, description = null, schema = null, strict } = format
  const isSchema = format['type'] === 'json_schema'
  return {
    format: isSchema ? { type: 'json_schema', name, description, schema, strict: strict === true } : format,
    ...(verbosity === undefined ? {} : { verbosity }),
  }
}

function encodeReasoning(request: Json): Json {
  const { effort = null, summary = null } = getObject(request, 'reasoning') ?? {}
  return { effort, summary }
}

/** A response that has begun. */
export interface ResponseHead {
  readonly id: string
  /** Unix seconds. */
  readonly createdAt: number
  readonly model: string
  readonly serviceTier: string
}

/** The head of the response to a request, from a response or chunk in the OpenAI format. */
export function responseHead(response: Json, request: Json): ResponseHead {
  return {
    id: newId('resp'),
    createdAt: getNumber(response, 'created') ?? unixSeconds(),
    model: getString(response, 'model') ?? getString(request, 'model') ?? '',
    serviceTier: getString(response, 'service_tier') ?? 'default',
  }
}

function unixSeconds(): number {
  return Math.floor(Date.now() / 1000)
}

/** The settings of the request that a response repeats. */
function encodeSettings(request: Json): Json {
  return {
    instructions: getString(request, 'instructions') ?? null,
    max_output_tokens: getNumber(request, 'max_output_tokens') ?? null,
    max_tool_calls: getNumber(request, 'max_tool_calls') ?? null,
    parallel_tool_calls: request['parallel_tool_calls'] !== false,
    previous_response_id: null,
    prompt_cache_key: getString(request, 'prompt_cache_key') ?? null,
    reasoning: encodeReasoning(request),
    safety_identifier: getString(request, 'safety_identifier') ?? null,
    store: false,
    background: false,
    temperature: getNumber(request, 'temperature') ?? 1,
    top_p: getNumber(request, 'top_p') ?? 1,
    top_logprobs: 0,
    presence_penalty: getNumber(request, 'presence_penalty') ?? 0,
    frequency_penalty: getNumber(request, 'frequency_penalty') ?? 0,
    text: encodeText(request),
    tool_choice: request['tool_choice'] ?? 'auto',
    tools: encodeTools(request),
    truncation: 'disabled',
    user: getString(request, 'user') ?? null,
    metadata: getObject(request, 'metadata') ?? {},
  }
}

/**
 * The response object; `ending` null: it is in progress. `usage` null: none is known.
 */
export function responseObject(
  { id, createdAt, model, serviceTier }: ResponseHead,
  request: Json,
  end: {
    readonly ending: ResponseEnding | null
    readonly output: readonly Json[]
    readonly usage: TokenUsage | null
  },
): Json {
  const { ending, output, usage } = end
  const isFailed = ending?.status === 'failed'
  return {
    id,
    object: 'response',
    created_at: createdAt,
    completed_at: ending?.status === 'completed' ? Math.max(createdAt, unixSeconds()) : null,
    status: ending?.status ?? 'in_progress',
    error: isFailed ? { code: ending.code, message: ending.message } : null,
    incomplete_details: ending?.status === 'incomplete' ? { reason: ending.reason } : null,
    model,
    output,
    usage: usage && serializeResponsesUsage(usage),
    service_tier: serviceTier,
    ...encodeSettings(request),
  }
}

/** The ending that a finish reason stands for; an unknown one is passed on as it is. */
export function endingOf(
  finishReason: string | undefined,
  { provider }: Pick<ResponsesContext, 'provider'>,
): ResponseEnding {
  if (!finishReason) return { status: 'completed' }
  switch (finishClassOf(provider, finishReason)) {
    case 'finished':
      return { status: 'completed' }
    case 'length':
      return { status: 'incomplete', reason: 'max_output_tokens' }
    case 'filtered':
      return { status: 'incomplete', reason: 'content_filter' }
    default:
      return { status: 'incomplete', reason: finishReason }
  }
}
