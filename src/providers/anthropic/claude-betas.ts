/**
 * Beta features of Claude on platforms of others. A platform rejects a name in `anthropic-beta` that it does not know, and
 * a field of the body whose feature it does not have: both leave the request together. (Anthropic, "Beta headers", "Tool
 * search tool", "Prompt caching", "Structured outputs", "Fine-grained tool streaming"; anthropics/claude-code#21612.)
 * Amazon's Converse API has a format of its own, into which none of these fields is translated.
 */
import { getObject, getObjects, getString, isObject, type Json } from '../json-fields.ts'
import { UnsupportedFeatureError } from '../provider.ts'

/** The names that Vertex AI knows. */
const vertexBetas = new Set([
  'compact-2026-01-12',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'effort-2025-11-24',
  'interleaved-thinking-2025-05-14',
  'output-128k-2025-02-19',
  'token-efficient-tools-2025-02-19',
  'tool-examples-2025-10-29',
  'tool-search-tool-2025-10-19',
  'web-search-2025-03-05',
])

/** Fields of tools, which Anthropic has under `advanced-tool-use-2025-11-20`: the name of each at Vertex. */
const vertexToolBetas: Readonly<Record<string, string>> = {
  defer_loading: 'tool-search-tool-2025-10-19',
  input_examples: 'tool-examples-2025-10-29',
}
const toolSearch = /^tool_search_tool(?:_regex|_bm25)?(?:_\d{8})?$/

/** The response does not depend on them: how arguments are streamed, and who shares a cache. */
const toolHints = ['eager_input_streaming']
const cacheScopeBeta = 'prompt-caching-scope-2026-01-05'
const filesBeta = 'files-api-'

export interface PlatformRequest {
  readonly betas: readonly string[]
  /** Members of the body that replace the caller's. */
  readonly changed: Json
  /** Members that leave the body. */
  readonly dropped: readonly string[]
}

/**
 * A Messages request as Vertex AI takes it. `betas`: the caller's. Throws `UnsupportedFeatureError` for a field without
 * which the response would be another one.
 */
export function fitVertexRequest(request: Json, betas: readonly string[]): PlatformRequest {
  const changed = new Map<string, unknown>()
  const dropped: string[] = []
  const tools = getObjects(request, 'tools')
  const needed = tools.flatMap(betasOfTool)
  rejectToolCallers(tools)
  if (getObjects(request, 'mcp_servers').length > 0) throw unsupported('mcp_servers')
  if (tools.some((tool) => toolHints.some((name) => name in tool)))
    changed.set(
      'tools',
      tools.map((tool) => without(tool, toolHints)),
    )
  fitOutput(request, changed, dropped)
  if (betas.some((beta) => beta.startsWith(filesBeta))) rejectFiles(request)
  if (betas.includes(cacheScopeBeta)) {
    for (const name of ['cache_control', 'system', 'messages', 'tools']) {
      const value = changed.get(name) ?? request[name]
      const rest = name === 'cache_control' ? withoutScopeOf(value) : withoutScope(value)
      if (rest !== value) changed.set(name, rest)
    }
  }
  const known = [...betas.filter((beta) => vertexBetas.has(beta)), ...needed]
  return { betas: [...new Set(known)], changed: Object.fromEntries(changed), dropped }
}

function unsupported(param: string): UnsupportedFeatureError {
  return new UnsupportedFeatureError(param, 'not supported by Vertex AI')
}

function without(json: Json, names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(json).filter(([name]) => !names.includes(name)))
}

function betasOfTool(tool: Json): string[] {
  const isSearch = toolSearch.test(getString(tool, 'type') ?? '')
  const fields = isSearch ? [...Object.keys(tool), 'defer_loading'] : Object.keys(tool)
  return fields.flatMap((name) => (Object.hasOwn(vertexToolBetas, name) ? (vertexToolBetas[name] ?? []) : []))
}

/** Only the model itself may call tools there. */
function rejectToolCallers(tools: readonly Json[]): void {
  for (const [index, { allowed_callers: callers }] of tools.entries()) {
    const others = Array.isArray(callers) ? callers.filter((caller) => caller !== 'direct') : []
    if (others.length > 0) throw unsupported(`tools[${index}].allowed_callers`)
  }
}

/** The format of the response has left its beta, under another name. A budget for a task is a hint. */
function fitOutput(request: Json, changed: Map<string, unknown>, dropped: string[]): void {
  const format = getObject(request, 'output_format')
  const config = getObject(request, 'output_config') ?? {}
  if ('output_format' in request) dropped.push('output_format')
  if (format || 'task_budget' in config)
    changed.set('output_config', { ...(format ? { format } : {}), ...without(config, ['task_budget']) })
}

function rejectFiles(request: Json): void {
  for (const [at, message] of getObjects(request, 'messages').entries())
    for (const [index, block] of getObjects(message, 'content').entries())
      if (getObject(block, 'source')?.['type'] === 'file')
        throw unsupported(`messages[${at}].content[${index}].source.type`)
}

function withoutScopeOf(control: unknown): unknown {
  return isObject(control) && 'scope' in control ? without(control, ['scope']) : control
}

/** The caller's own objects. */
const opaqueFields = new Set(['input', 'input_schema'])

/** The value without `cache_control.scope`; the value itself if it has none. */
function withoutScope(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(withoutScope)
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([name, each]) => {
    if (name === 'cache_control') return [name, withoutScopeOf(each)] as const
    return [name, opaqueFields.has(name) ? each : withoutScope(each)] as const
  })
  return entries.some(([name, each]) => each !== value[name]) ? Object.fromEntries(entries) : value
}
