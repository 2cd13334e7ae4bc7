/** Reads the path and the query of a request (RFC 9112, 3.2). */
import { apiError } from '../errors.ts'

/** Throws 400 for a path or query with U+0000, which PostgreSQL cannot store. It has only one encoding. */
export function requireValidTarget(target: string): void {
  if (target.includes('%00'))
    throw apiError('invalid_request', { message: 'Invalid URL: must not contain U+0000 (`%00`).' })
}

export function decodePathSegment(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw apiError('invalid_request', { message: 'Invalid URL: malformed percent-encoding.' })
  }
}

/** Anthropic's clients append /v1 to the base URL, even if it ends with /v1 already. */
export function stripVersions(path: string): string {
  return stripVersion(stripVersion(path))
}

function stripVersion(path: string): string {
  return path.startsWith('/v1/') ? path.slice('/v1'.length) : path
}
