/**
 * A chat request in the OpenAI format, parsed for providers with their own API format. They drop sampling hints that
 * their format cannot express, as their own OpenAI-compatible endpoints do; a feature that changes the response or its
 * cost is rejected by name.
 */
import { parseMessages, type ChatMessage } from './chat-messages.ts'
import { getNumber, getObject, getObjects, getString, isObject, type Json } from './json-fields.ts'
import { withTools } from './legacy-functions.ts'
import { UnsupportedFeatureError, type UpstreamCall } from './provider.ts'
import { fitSchema, fitToolName, renameKeys, type NameRules, type PropertyNames } from './provider-names.ts'
import { withoutHints } from './request-hints.ts'

export interface Tool {
  readonly name: string
  readonly description: string | undefined
  /** A JSON Schema of an object. */
  readonly parameters: Json
  readonly strict: boolean
  readonly cacheControl: unknown
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string }

export type ResponseFormat =
  | { readonly kind: 'text' }
  | { readonly kind: 'object' }
  | {
      readonly kind: 'schema'
      readonly schema: Json
      readonly name: string | undefined
      readonly description: string | undefined
      readonly strict: boolean
    }

/** How much to think, as far as the caller specifies it. */
export interface Reasoning {
  readonly effort: string | null
  readonly tokens: number | null
  /** The response must not contain the thinking. */
  readonly isHidden: boolean
}

export interface ParsedChatRequest {
  readonly json: Json
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly Tool[]
  /** `null`: not specified. */
  readonly toolChoice: ToolChoice | null
  /** A response may call several tools. */
  readonly isParallel: boolean
  readonly format: ResponseFormat
  readonly stop: readonly string[] | undefined
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly topK: number | undefined
  readonly results: number
  /** The maximum of output tokens: the smaller one of the caller's and what the hold pays for; `null`: neither. */
  readonly maximumTokens: number | null
  /** `null`: not specified. */
  readonly reasoning: Reasoning | null
}

const emptySchema: Json = { type: 'object', properties: {} }

function parseTool(tool: Json, index: number): Tool {
  const about = getObject(tool, 'function')
  const name = about && getString(about, 'name')
  if (!about && tool['type'] === 'function') {
    const problem =
      'must be an object with the name of the function; tools without it belong to `POST /v1/responses`'
    throw new UnsupportedFeatureError(`tools[${index}].function`, problem)
  }
  if (!about || name === undefined) {
    throw new UnsupportedFeatureError(`tools[${index}].type`, 'must be "function" for this provider')
  }
  return {
    name,
    description: getString(about, 'description'),
    parameters: { type: 'object', ...(getObject(about, 'parameters') ?? emptySchema) },
    strict: about['strict'] === true,
    cacheControl: tool['cache_control'],
  }
}

function toolNameIn(choice: Json): string | undefined {
  const about = getObject(choice, 'function')
  return about && getString(about, 'name')
}

/** The tools and the tool choice; `allowed_tools` selects a subset. */
function parseTools(json: Json): { tools: readonly Tool[]; toolChoice: ToolChoice | null } {
  const tools = getObjects(json, 'tools').map(parseTool)
  const choice = json['tool_choice']
  if (choice === undefined || choice === null) return { tools, toolChoice: null }
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { tools, toolChoice: choice }
  if (isObject(choice)) {
    const name = toolNameIn(choice)
    if (name !== undefined) return { tools, toolChoice: { name } }
    const allowed = getObject(choice, 'allowed_tools')
    if (allowed) {
      const names = new Set(getObjects(allowed, 'tools').map(toolNameIn))
      const toolChoice = allowed['mode'] === 'required' ? 'required' : 'auto'
      return { tools: tools.filter((tool) => names.has(tool.name)), toolChoice }
    }
  }
  throw new UnsupportedFeatureError('tool_choice', 'not supported by this provider')
}

function parseResponseFormat(json: Json): ResponseFormat {
  const format = getObject(json, 'response_format')
  const type = format && getString(format, 'type')
  if (!format || type === undefined || type === 'text') return { kind: 'text' }
  if (type === 'json_object') return { kind: 'object' }
  const about = getObject(format, 'json_schema')
  const schema = about && getObject(about, 'schema')
  if (type === 'json_schema' && about && schema) {
    return {
      kind: 'schema',
      schema,
      name: getString(about, 'name'),
      description: getString(about, 'description'),
      strict: about['strict'] === true,
    }
  }
  const problem = 'must be "text", "json_object", or "json_schema" with a schema'
  throw new UnsupportedFeatureError('response_format', problem)
}

function parseStop(json: Json): readonly string[] | undefined {
  const { stop } = json
  if (typeof stop === 'string') return [stop]
  if (!Array.isArray(stop)) return undefined
  const stops = stop.filter((each) => typeof each === 'string')
  return stops.length > 0 ? stops : undefined
}

function minMaximumTokens(json: Json, { maximumTokens }: UpstreamCall): number | null {
  const maximums = [getNumber(json, 'max_tokens'), getNumber(json, 'max_completion_tokens'), maximumTokens]
  const numbers = maximums.filter((each) => typeof each === 'number')
  return numbers.length > 0 ? Math.min(...numbers) : null
}

/** From `reasoning_effort`, from `reasoning` as in OpenRouter, or from `thinking` as in Anthropic and others. */
function parseReasoning(json: Json): Reasoning | null {
  const reasoning = getObject(json, 'reasoning')
  const thinking = getObject(json, 'thinking')
  const isHidden = reasoning?.['exclude'] === true
  const effort = getString(json, 'reasoning_effort') ?? (reasoning && getString(reasoning, 'effort'))
  const tokens =
    (reasoning && getNumber(reasoning, 'max_tokens')) ?? (thinking && getNumber(thinking, 'budget_tokens'))
  if (effort !== undefined) return { effort, tokens: tokens ?? null, isHidden }
  if (tokens !== undefined) return { effort: null, tokens, isHidden }
  const type = thinking && getString(thinking, 'type')
  if (type === 'disabled' || reasoning?.['enabled'] === false)
    return { effort: 'none', tokens: null, isHidden }
  if (type !== undefined || reasoning?.['enabled'] === true)
    return { effort: 'medium', tokens: null, isHidden }
  return null
}

/** Only the Responses API returns probabilities as OpenAI's format has them. */
function rejectLogprobs(json: Json): void {
  const field = json['logprobs'] === true ? 'logprobs' : 'top_logprobs'
  if (field === 'logprobs' || (getNumber(json, 'top_logprobs') ?? 0) > 0)
    throw new UnsupportedFeatureError(field, 'not supported by this provider')
}

/**
 * Parses the caller's request. `rules`: of names, which are changed where the provider does not accept them. Throws
 * `UnsupportedFeatureError` for features that no other API format has.
 */
export function parseChatRequest(
  call: UpstreamCall,
  rules?: NameRules,
  { returnsLogprobs = false } = {},
): ParsedChatRequest {
  const json = withTools(withoutHints(call.body.parsed(), call.withoutFields))
  if (!returnsLogprobs) rejectLogprobs(json)
  const request = parseRequest(json, call)
  return rules ? withFittingNames(request, rules) : request
}

/** The request with names that the provider accepts: of tools, and of properties in schemas and earlier calls. */
function withFittingNames(request: ParsedChatRequest, rules: NameRules): ParsedChatRequest {
  const { format, toolChoice } = request
  const properties = new Map<string, PropertyNames>()
  const tools = request.tools.map((tool) => {
    const { schema, names } = fitSchema(tool.parameters, rules)
    properties.set(tool.name, names)
    return { ...tool, name: fitToolName(tool.name, rules), parameters: schema }
  })
  const messages = request.messages.map((message) => ({
    ...message,
    toolCalls: message.toolCalls.map((call) => {
      const names = properties.get(call.name)
      const input = names ? (renameKeys(call.input, names) as Json) : call.input
      return { ...call, name: fitToolName(call.name, rules), input }
    }),
  }))
  return {
    ...request,
    tools,
    messages,
    toolChoice:
      typeof toolChoice === 'object' && toolChoice !== null
        ? { name: fitToolName(toolChoice.name, rules) }
        : toolChoice,
    format: format.kind === 'schema' ? { ...format, schema: fitSchema(format.schema, rules).schema } : format,
  }
}

function parseRequest(json: Json, call: UpstreamCall): ParsedChatRequest {
  return {
    json,
    messages: parseMessages(json),
    ...parseTools(json),
    isParallel: json['parallel_tool_calls'] !== false,
    format: parseResponseFormat(json),
    stop: parseStop(json),
    temperature: getNumber(json, 'temperature'),
    topP: getNumber(json, 'top_p'),
    topK: getNumber(json, 'top_k'),
    results: getNumber(json, 'n') ?? 1,
    maximumTokens: minMaximumTokens(json, call),
    reasoning: parseReasoning(json),
  }
}

/** For providers with one result per request. Throws `UnsupportedFeatureError` naming `n`. */
export function requireSingleResult({ results }: ParsedChatRequest): void {
  if (results > 1) throw new UnsupportedFeatureError('n', 'must be 1 for this provider')
}
