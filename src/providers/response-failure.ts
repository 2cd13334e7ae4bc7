/** Failures that an upstream reports inside a response with status 200, in the OpenAI format and what its servers add. */
import { finishClassOf } from './finish-reasons.ts'
import { getNumber, getObject, getObjects, getString, isObject, type Json } from './json-fields.ts'

/** The HTTP statuses of MiniMax's codes (MiniMax, "Error codes"). Others are failures of the provider. */
const minimaxStatuses: ReadonlyMap<number, number> = new Map([
  [1002, 429],
  [1004, 401],
  [1008, 402],
  [1026, 400],
  [1039, 429],
  [2013, 400],
  [2049, 401],
  [2056, 429],
])

/** The error of a response of MiniMax, which has no other sign of it; `null`: none. */
function minimaxError(chunk: Json): Json | null {
  const base = getObject(chunk, 'base_resp')
  const code = base && getNumber(base, 'status_code')
  if (!base || !code) return null
  const message = getString(base, 'status_msg') ?? 'error'
  return { message, code: String(code), status_code: minimaxStatuses.get(code) ?? 500 }
}

/** Some servers have an empty `error` in every chunk. */
function hasError({ error }: Json): boolean {
  return isObject(error) ? Object.keys(error).length > 0 : typeof error === 'string' && error !== ''
}

/**
 * The failure that a chunk or a response reports, as the body of an error; `null`: none. It may come instead of choices, next
 * to them or in one of them (OpenRouter, "Errors and debugging"), as a finish reason, or as an object of its own (vLLM).
 */
export function findFailure(provider: string, chunk: Json): Json | null {
  const choices = getObjects(chunk, 'choices')
  const isAlone = !Array.isArray(chunk['choices']) && (chunk['error'] ?? null) !== null
  if (isAlone || hasError(chunk)) return { error: chunk['error'] }
  if (chunk['object'] === 'error') return { error: chunk }
  const other = minimaxError(chunk)
  if (other) return { error: other }
  for (const choice of choices) if (hasError(choice)) return { error: choice['error'] }
  const reasons = choices.map((choice) => getString(choice, 'finish_reason') ?? '')
  const failed = reasons.find((reason) => finishClassOf(provider, reason) === 'failed')
  if (failed === undefined) return null
  return { error: { message: `The provider ended its response with "${failed}".`, code: failed } }
}
