/** Tools of a Responses request that the provider runs and bills by the call (`per_tool_call` of the prices). */
import { isOptionalSearch } from '../../formats/responses-tools.ts'
import type { Price } from '../../ledger/price.ts'
import { getString, isObject, type Json } from '../../providers/json-fields.ts'
import type { RestrictedField } from './restricted-fields.ts'

export interface HostedTool {
  /** As `per_tool_call` names it: the type of its items without `_call`. */
  readonly name: string
  readonly type: string
  readonly index: number
  /** The request can do without it: it is left out where it has no price. */
  readonly isOptional: boolean
}

const noNames: readonly string[] = []
/** Of nearly all requests. */
export const noHostedTools: readonly HostedTool[] = []

/** Tools that the caller runs, or that cost nothing but tokens. */
const callerTools =
  /^(?:function|custom|namespace|apply_patch|local_shell|computer.*|tool_search|programmatic_tool_calling)$/

/** Held for a non-streaming response whose request states no maximum of calls. */
const defaultCalls = 10

/** The tools of a request that the provider runs. */
export function findHostedTools(request: Json): readonly HostedTool[] {
  const { tools } = request
  if (!Array.isArray(tools)) return noHostedTools
  return tools.flatMap((tool: unknown, index) => {
    if (!isObject(tool)) return []
    const type = getString(tool, 'type') ?? ''
    if (callerTools.test(type) || isLocalShell(tool)) return []
    return [{ name: toolNameOf(type), type, index, isOptional: isOptionalSearch(tool, request) }]
  })
}

/** The type without the date of its version; a search has one price under all its names. */
function toolNameOf(type: string): string {
  return type.startsWith('web_search') ? 'web_search' : type.replace(/(?:_\d{4}_\d{2}_\d{2}|_\d{8})$/, '')
}

/** A shell without a container runs at the caller. */
function isLocalShell(tool: Json): boolean {
  if (tool['type'] !== 'shell') return false
  const { environment } = tool
  return !isObject(environment) || environment['type'] === 'local'
}

/** The tools that the request cannot do without: only routes that take them may serve it. */
export function restrictedTools(tools: readonly HostedTool[]): RestrictedField[] {
  return tools
    .filter(({ isOptional }) => !isOptional)
    .map(({ name, type, index }) => ({
      param: `tools[${index}]`,
      names: [...new Set([type, name, 'tools'])],
      restriction: 'service',
      tool: name,
    }))
}

interface ToolRequest {
  readonly stream: boolean
  readonly hostedTools?: readonly HostedTool[]
  parsed(): Json
}

/** The names of the tools in a request that have a price. */
export function pricedTools(
  { hostedTools }: Pick<ToolRequest, 'hostedTools'>,
  price: Pick<Price, 'perToolCall'>,
): readonly string[] {
  const { perToolCall } = price
  if (!perToolCall || !hostedTools) return noNames
  return hostedTools.map(({ name }) => name).filter((name) => Object.hasOwn(perToolCall, name))
}

/** The names of all tools that have a price; `undefined`: none has. */
export function toolsWithPrice({ perToolCall }: Pick<Price, 'perToolCall'>): ReadonlySet<string> | undefined {
  return perToolCall && new Set(Object.keys(perToolCall))
}

export interface ToolCallsToHold {
  /** The dearest tool. */
  readonly name: string
  /** A stream holds one call at first, and the next one as each of them appears. */
  readonly calls: number
  /** The most calls that the request allows; Infinity: it states no maximum. */
  readonly maximum: number
}

/** `null`: the request offers no tool that has a price. */
export function toolCallsToHold(
  request: ToolRequest,
  price: Pick<Price, 'perToolCall'>,
): ToolCallsToHold | null {
  const fees = pricedTools(request, price).map((name) => ({ name, fee: price.perToolCall?.[name] ?? 0n }))
  const [first, ...others] = fees
  if (!first) return null
  const { name } = others.reduce((dearest, each) => (each.fee > dearest.fee ? each : dearest), first)
  const stated = request.parsed()['max_tool_calls']
  const maximum =
    typeof stated === 'number' && Number.isSafeInteger(stated) && stated >= 0 ? stated : Infinity
  if (request.stream) return { name, calls: Math.min(maximum, 1), maximum }
  return { name, calls: maximum === Infinity ? defaultCalls : maximum, maximum }
}
