/** A whole response in the OpenAI format as the chunks of a stream, for an upstream that sends it where a stream was asked for. */
import { getObject, getObjects, type Json } from './json-fields.ts'
import { findUsage } from './usage-counts.ts'

/** A message as one delta, whose calls have an index. */
function deltaOf(message: Json): Json {
  const calls = getObjects(message, 'tool_calls').map((call, index) => ({ index, ...call }))
  return { ...message, ...(calls.length > 0 ? { tool_calls: calls } : {}) }
}

export function responseToChunks(response: Json): Json[] {
  const { choices: _choices, usage: _usage, ...shared } = response
  const results = getObjects(response, 'choices')
  const isText = results.some(({ text }) => typeof text === 'string')
  const head = { ...shared, object: isText ? 'text_completion' : 'chat.completion.chunk' }
  const written = results.map(({ message: _message, delta: _delta, ...choice }, index) => {
    const message =
      getObject(results[index] ?? {}, 'message') ?? getObject(results[index] ?? {}, 'delta') ?? {}
    return { index, ...choice, ...(isText ? {} : { delta: deltaOf(message) }), finish_reason: null }
  })
  const nothing = isText ? { text: '' } : { delta: {} }
  const ends = results.map(({ finish_reason: reason, native_finish_reason: native, ...choice }, index) => ({
    index: choice['index'] ?? index,
    ...nothing,
    finish_reason: reason ?? null,
    ...(native === undefined ? {} : { native_finish_reason: native }),
  }))
  const usage = findUsage(response)
  return [
    { ...head, choices: written },
    { ...head, choices: ends },
    ...(usage ? [{ ...head, choices: [], usage }] : []),
  ]
}
