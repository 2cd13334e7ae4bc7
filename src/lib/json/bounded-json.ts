/**
 * Parses JSON of an upstream, which may be nested without bound. JSON.parse reads any depth, but whatever walks the
 * value afterwards, such as JSON.stringify, recurses and would overflow the stack far away from here.
 */
import { JsonCursor, maxDepth, MalformedJsonError } from './json-cursor.ts'

/** Throws SyntaxError, or {@link MalformedJsonError} if the text is nested more than `maxDepth` levels deep. */
export function parseBoundedJson(text: string): unknown {
  if (text.length > maxDepth && mayBeTooDeep(text)) assertDepth(text)
  const value: unknown = JSON.parse(text)
  return value
}

/** Does it have more opening brackets than levels are allowed? Most texts have few, and a search is fast. */
function mayBeTooDeep(text: string): boolean {
  let remaining = maxDepth
  for (const bracket of '[{') {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1))
      if (remaining-- === 0) return true
  }
  return false
}

/** Text that is not JSON is left to JSON.parse. */
function assertDepth(text: string): void {
  try {
    new JsonCursor(Buffer.from(text)).skipValue()
  } catch (error) {
    if (error instanceof MalformedJsonError && error.tooDeep) throw error
  }
}
