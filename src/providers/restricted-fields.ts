/**
 * Fields of requests that leave the relay only if the upstream's `allowed_fields` lists them or a price covers them:
 * names by which only some engines know the maximum of output tokens, and fields that choose another model, a dearer
 * service, or state and resources at the provider. All requests to an upstream use the operator's credential and are
 * charged at the model's price, which covers none of this.
 */
import { isObject } from './json-fields.ts'
import { defaultTiers } from './usage.ts'

/**
 * `maximum`: of output tokens, or how long an engine must write. `service`: another model or a dearer service. `state`:
 * what the field makes the provider read or bill is not in the request. `search`: a web search, covered by `per_search`.
 */
export type Restriction = 'maximum' | 'service' | 'state' | 'search'

export interface FieldRule {
  readonly restriction: Restriction
  /** The providers that have the field; absent: any may have it. Others get it unchanged, like any unknown field. */
  readonly providers?: ReadonlySet<string>
  /** The restriction of a value; `null`: it asks for nothing. Absent: that of the rule for every value except null. */
  readonly classify?: (value: unknown) => Restriction | null
}

/** Nobody knows which engine or gateway answers behind these. */
const anyEngine = ['openai-compatible', 'demo']
/** Providers whose models have Anthropic's format. */
const claudeProviders = new Set(['anthropic', 'vertex', 'bedrock', 'openrouter', ...anyEngine])
/** Gateways to the models of others. */
const gateways = new Set(['openrouter', ...anyEngine])

const only =
  (restriction: Restriction, isDefault: (value: unknown) => boolean) =>
  (value: unknown): Restriction | null =>
    isDefault(value) ? null : restriction

/** OpenRouter's plugin for web searches; the others read documents or choose models. */
function classifyPlugins(value: unknown): Restriction | null {
  if (!Array.isArray(value)) return 'service'
  if (value.length === 0) return null
  return value.every((plugin) => isObject(plugin) && plugin['id'] === 'web') ? 'search' : 'service'
}

const maximum: FieldRule = { restriction: 'maximum' }
const switchedOn: FieldRule = {
  restriction: 'maximum',
  classify: only('maximum', (value) => value === false),
}
const service: FieldRule = { restriction: 'service' }
const state: FieldRule = { restriction: 'state' }
const claudeService = (defaultValue: string): FieldRule => ({
  restriction: 'service',
  providers: claudeProviders,
  classify: only('service', (value) => value === defaultValue),
})
const gatewayChoice: FieldRule = { restriction: 'service', providers: gateways }
const searchSwitch = (...providers: string[]): FieldRule => ({
  restriction: 'search',
  providers: new Set([...providers, ...anyEngine]),
  classify: only('search', (value) => value === false),
})

/**
 * Maximums of output tokens and minimums that keep an engine writing, by the documentation of llama.cpp (server),
 * Ollama, Hugging Face TGI, vLLM, SGLang, LMDeploy, KoboldCpp, TabbyAPI and the providers' older APIs.
 */
const maximumRules: readonly (readonly [string, FieldRule])[] = [
  ['n_predict', maximum],
  ['num_predict', maximum],
  ['max_new_tokens', maximum],
  ['max_output_tokens', maximum],
  ['max_length', maximum],
  ['min_tokens', { restriction: 'maximum', classify: only('maximum', (value) => value === 0) }],
  ['ignore_eos', switchedOn],
  ['ban_eos_token', { ...switchedOn, providers: new Set(anyEngine) }],
  ['min_length', { ...maximum, providers: new Set(anyEngine) }],
  ['min_new_tokens', { ...maximum, providers: new Set(anyEngine) }],
  ['max_tokens_to_sample', { ...maximum, providers: claudeProviders }],
  ['tokens_to_generate', { ...maximum, providers: new Set(['minimax', ...anyEngine]) }],
]

/** More results than one: each is output that was not held. */
const resultCount: FieldRule = {
  restriction: 'maximum',
  classify: only('maximum', (value) => value === 1),
}

/**
 * Counts of results, by the documentation of Gemini, Cohere, Hugging Face TGI and vLLM. At the top of a request, the relay
 * itself reads `n`, and in completions `best_of`.
 */
const resultCountRules: readonly (readonly [string, FieldRule])[] = [
  'candidate_count',
  'candidateCount',
  'num_generations',
  'num_return_sequences',
  'best_of',
].map((name) => [name, resultCount])

const serviceRules: readonly (readonly [string, FieldRule])[] = [
  ['service_tier', { restriction: 'service', classify: only('service', (value) => defaultTiers.has(value)) }],
  // Audio tokens cost many times as much as text.
  [
    'modalities',
    {
      restriction: 'service',
      classify: only('service', (value) => Array.isArray(value) && !value.includes('audio')),
    },
  ],
  // OpenRouter's routing (openrouter.ai/docs/guides/routing), which other gateways have copied.
  ['models', gatewayChoice],
  ['route', gatewayChoice],
  ['provider', gatewayChoice],
  ['preset', gatewayChoice],
  ['transforms', gatewayChoice],
  ['plugins', { ...gatewayChoice, classify: classifyPlugins }],
  // Vercel's AI Gateway: `{gateway: {models, order, only}}`.
  ['providerOptions', gatewayChoice],
  // Fast mode costs up to six times as much (platform.claude.com/docs, "Fast mode").
  ['speed', claudeService('standard')],
  // Inference in one country costs 1.1 times as much ("Data residency").
  ['inference_geo', claudeService('global')],
  // What servers of the caller's choice return becomes input that is not in the request.
  ['mcp_servers', { restriction: 'service', providers: claudeProviders }],
  // Azure's "On Your Data": input from a search index that is not in the request.
  ['data_sources', { restriction: 'service', providers: new Set(['azure', ...anyEngine]) }],
  // xAI: the response is fetched later by an id, without a usage to bill.
  [
    'deferred',
    {
      restriction: 'state',
      providers: new Set(['xai', ...anyEngine]),
      classify: only('state', (value) => value === false),
    },
  ],
]

/** Conversations, files and billing at Anthropic; gateways have `fallbacks` too. */
const stateFields = [
  'thread',
  'container',
  'fallbacks',
  'compaction',
  'billing_policy',
  'user_profile_id',
  'workspace_id',
]

const searchRules: readonly (readonly [string, FieldRule])[] = [
  // OpenAI, Azure, Perplexity, OpenRouter.
  ['web_search_options', { restriction: 'search' }],
  // Qwen and ERNIE of today and before; Hunyuan's two names.
  ['enable_search', searchSwitch('qwen', 'siliconflow')],
  ['web_search', searchSwitch('ernie', 'zhipu', 'doubao', 'minimax')],
  ['enable_enhancement', searchSwitch('hunyuan')],
  ['force_search_enhancement', searchSwitch('hunyuan')],
  // xAI's Live Search; without a mode it is "auto".
  [
    'search_parameters',
    {
      restriction: 'search',
      providers: new Set(['xai', ...anyEngine]),
      classify: only('search', (value) => isObject(value) && value['mode'] === 'off'),
    },
  ],
]

/** The rules by the name of the field, for requests in every format. */
export const fieldRules: ReadonlyMap<string, FieldRule> = new Map([
  ...maximumRules,
  ...resultCountRules,
  ...serviceRules,
  ...stateFields.map((name) => [name, state] as const),
  ...searchRules,
])

/** A maximum in a request where no engine is meant to find one. */
export const foreignMaximum: FieldRule = maximum
/** A count of results where the relay does not read it. */
export const foreignResultCount: FieldRule = resultCount
/** A tool that the provider runs, other than web search. */
export const hostedTool: FieldRule = service
export const searchTool: FieldRule = { restriction: 'search' }

/**
 * Objects whose members engines and gateways read like fields of the request: Ollama's `options`, TGI's `parameters`,
 * SGLang's `sampling_params`, NVIDIA's `nvext`, the `generation_config` of Google and LMDeploy, LiteLLM's `extra_body`.
 * Only of `extra_body` they are all fields; of the others, those for the maximum.
 */
export const containerFields: ReadonlySet<string> = new Set([
  'extra_body',
  'options',
  'parameters',
  'sampling_params',
  'nvext',
  'generation_config',
])

/**
 * Beta features that make a request dearer by themselves, by the beginning of their names: fast mode
 * (platform.claude.com/docs, "Fast mode"). Others cost nothing without a field or tool that has a rule of its own. The
 * window of a million tokens (`context-1m-…`) costs the same per token with every model that still has it ("Pricing").
 */
export const dearerBetas: readonly string[] = ['fast-mode-']

/** Of `anthropic-beta` and of the fields that carry it in the body. */
export const betaRule: FieldRule = { restriction: 'service', providers: claudeProviders }
export const betaFields: ReadonlySet<string> = new Set(['betas', 'anthropic_beta'])
