/**
 * A chat request of the common format, read once for a dialect of its own. What only hints at how to sample and has no
 * word in a dialect is left out there, as the providers' own compatible endpoints do; what changes what is answered or
 * paid is refused by its name.
 */
import { messagesOf, type ChatMessage } from './chat-messages.ts'
import { numberIn, objectIn, objectsIn, textIn, type Json } from './json-fields.ts'
import { Inexpressible, type Call } from './provider.ts'
import { isObject } from './usage.ts'

export interface Tool {
  readonly name: string
  readonly description: string | undefined
  /** A JSON Schema of an object. */
  readonly parameters: Json
  readonly strict: boolean
  readonly cacheControl: unknown
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string }

export type AnswerFormat =
  | { readonly kind: 'text' }
  | { readonly kind: 'object' }
  | {
      readonly kind: 'schema'
      readonly schema: Json
      readonly name: string | undefined
      readonly description: string | undefined
    }

/** How much to think, as far as the caller says. */
export interface Reasoning {
  readonly effort: string | null
  readonly tokens: number | null
  /** Thinking is not wanted in the answer. */
  readonly isHidden: boolean
}

export interface ChatRequest {
  readonly json: Json
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly Tool[]
  /** `null`: not said. */
  readonly toolChoice: ToolChoice | null
  /** Several tools may be called in one answer. */
  readonly isParallel: boolean
  readonly format: AnswerFormat
  readonly stop: readonly string[] | undefined
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly topK: number | undefined
  readonly results: number
  /** The most output tokens: the caller's, or what money allows if that is less; `null`: neither says. */
  readonly maximumTokens: number | null
  /** `null`: not said. */
  readonly reasoning: Reasoning | null
}

const emptySchema: Json = { type: 'object', properties: {} }

function toolOf(tool: Json, index: number): Tool {
  const about = objectIn(tool, 'function')
  const name = about && textIn(about, 'name')
  if (!about || name === undefined) {
    const param = `tools[${index}].type`
    throw new Inexpressible(param, `${param} can only be "function" for this provider.`)
  }
  return {
    name,
    description: textIn(about, 'description'),
    parameters: objectIn(about, 'parameters') ?? emptySchema,
    strict: about['strict'] === true,
    cacheControl: tool['cache_control'],
  }
}

function nameOfChoice(choice: Json): string | undefined {
  const about = objectIn(choice, 'function')
  return about && textIn(about, 'name')
}

/** The tools on offer and what to do with them; `allowed_tools` is fewer tools. */
function toolsOf(json: Json): { tools: readonly Tool[]; toolChoice: ToolChoice | null } {
  const tools = objectsIn(json, 'tools').map(toolOf)
  const choice = json['tool_choice']
  if (choice === undefined || choice === null) return { tools, toolChoice: null }
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { tools, toolChoice: choice }
  if (isObject(choice)) {
    const name = nameOfChoice(choice)
    if (name !== undefined) return { tools, toolChoice: { name } }
    const allowed = objectIn(choice, 'allowed_tools')
    if (allowed) {
      const names = new Set(objectsIn(allowed, 'tools').map(nameOfChoice))
      const toolChoice = allowed['mode'] === 'required' ? 'required' : 'auto'
      return { tools: tools.filter((tool) => names.has(tool.name)), toolChoice }
    }
  }
  throw new Inexpressible('tool_choice', 'tool_choice is none that this provider can be sent.')
}

function formatOf(json: Json): AnswerFormat {
  const format = objectIn(json, 'response_format')
  const type = format && textIn(format, 'type')
  if (!format || type === undefined || type === 'text') return { kind: 'text' }
  if (type === 'json_object') return { kind: 'object' }
  const about = objectIn(format, 'json_schema')
  const schema = about && objectIn(about, 'schema')
  if (type === 'json_schema' && about && schema) {
    return {
      kind: 'schema',
      schema,
      name: textIn(about, 'name'),
      description: textIn(about, 'description'),
    }
  }
  const message = 'response_format has to be "text", "json_object", or "json_schema" with a schema.'
  throw new Inexpressible('response_format', message)
}

function stopOf(json: Json): readonly string[] | undefined {
  const { stop } = json
  if (typeof stop === 'string') return [stop]
  if (!Array.isArray(stop)) return undefined
  const words = stop.filter((each) => typeof each === 'string')
  return words.length > 0 ? words : undefined
}

function maximumOf(json: Json, { maximumTokens }: Call): number | null {
  const given = [numberIn(json, 'max_tokens'), numberIn(json, 'max_completion_tokens'), maximumTokens]
  const numbers = given.filter((each) => typeof each === 'number')
  return numbers.length > 0 ? Math.min(...numbers) : null
}

/** From `reasoning_effort`, from `reasoning` as OpenRouter has it, or from `thinking` as Anthropic and others do. */
function reasoningOf(json: Json): Reasoning | null {
  const reasoning = objectIn(json, 'reasoning')
  const thinking = objectIn(json, 'thinking')
  const isHidden = reasoning?.['exclude'] === true
  const effort = textIn(json, 'reasoning_effort') ?? (reasoning && textIn(reasoning, 'effort'))
  const tokens =
    (reasoning && numberIn(reasoning, 'max_tokens')) ?? (thinking && numberIn(thinking, 'budget_tokens'))
  if (effort !== undefined) return { effort, tokens: tokens ?? null, isHidden }
  if (tokens !== undefined) return { effort: null, tokens, isHidden }
  const type = thinking && textIn(thinking, 'type')
  if (type === 'disabled' || reasoning?.['enabled'] === false)
    return { effort: 'none', tokens: null, isHidden }
  if (type !== undefined || reasoning?.['enabled'] === true)
    return { effort: 'medium', tokens: null, isHidden }
  return null
}

/** Reads the caller's request. Throws `Inexpressible` for what no dialect of its own could be sent. */
export function chatRequestOf(call: Call): ChatRequest {
  const json = call.body.parsed()
  for (const old of ['functions', 'function_call']) {
    if (json[old] !== undefined && json[old] !== null) {
      throw new Inexpressible(old, `${old} is not known to this provider; use tools.`)
    }
  }
  return {
    json,
    messages: messagesOf(json),
    ...toolsOf(json),
    isParallel: json['parallel_tool_calls'] !== false,
    format: formatOf(json),
    stop: stopOf(json),
    temperature: numberIn(json, 'temperature'),
    topP: numberIn(json, 'top_p'),
    topK: numberIn(json, 'top_k'),
    results: numberIn(json, 'n') ?? 1,
    maximumTokens: maximumOf(json, call),
    reasoning: reasoningOf(json),
  }
}

/** For providers that give one result a request. Throws `Inexpressible` naming `n`. */
export function refuseSeveralResults({ results }: ChatRequest): void {
  if (results > 1) throw new Inexpressible('n', 'n can only be 1 for this provider.')
}
