/**
 * The hints of a request in the OpenAI format: fields on sampling, thinking and accounting that a response can do
 * without. If an upstream rejects one that the relay added or translated, it is left out. Tools, response formats and
 * stops are no hints: they change what the caller gets.
 */
import type { Json } from './json-fields.ts'

/** `top_p` next to a `temperature`: the upstream accepts either alone. */
export const bothSamplings = 'temperature and top_p'

/** The fields of each hint. */
const hintFields: ReadonlyMap<string, readonly string[]> = new Map([
  ['stream_options', ['stream_options']],
  ['temperature', ['temperature']],
  ['top_p', ['top_p']],
  ['top_k', ['top_k']],
  ['reasoning', ['reasoning_effort', 'reasoning', 'thinking', 'enable_thinking', 'thinking_budget']],
  ['user', ['user']],
  ['parallel_tool_calls', ['parallel_tool_calls']],
])

/** Fields of other API formats, by hint. */
const translatedFields: ReadonlyMap<string, readonly string[]> = new Map([
  ['reasoning', ['output_config', 'effort', 'thinking_config', 'thinking_level', 'budget_tokens']],
  ['user', ['metadata']],
  ['parallel_tool_calls', ['disable_parallel_tool_use']],
])

const normalize = (name: string): string => name.toLowerCase().replaceAll('_', '')

const hintByName: ReadonlyMap<string, string> = new Map(
  [...hintFields, ...translatedFields].flatMap(([hint, names]) =>
    names.map((name) => [normalize(name), hint] as const),
  ),
)

/** The hint to which a provider's field belongs, such as `topP`; `undefined`: it is none. */
export function hintNamed(field: string): string | undefined {
  return hintByName.get(normalize(field))
}

function fieldsIn(request: Json, hint: string): readonly string[] {
  const isBoth = hint === bothSamplings && request['temperature'] !== undefined
  const fields = hintFields.get(isBoth ? 'top_p' : hint) ?? []
  return fields.filter((name) => request[name] !== undefined)
}

export function hasHint(request: Json, hint: string): boolean {
  return fieldsIn(request, hint).length > 0
}

/** The request without these hints. */
export function withoutHints(request: Json, hints: Iterable<string> = []): Json {
  let rest = request
  for (const hint of hints) {
    const dropped = fieldsIn(rest, hint)
    if (dropped.length > 0)
      rest = Object.fromEntries(Object.entries(rest).filter(([name]) => !dropped.includes(name)))
  }
  return rest
}
