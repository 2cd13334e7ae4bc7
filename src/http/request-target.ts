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

/**
 * The path of an endpoint below `/v1`. Anthropic's clients append /v1 to the base URL, even if it ends with /v1 already,
 * and others join it with too many slashes. A path that is not below `/v1` is returned unchanged, because proxies block
 * some of those by their exact path.
 */
export function endpointPath(path: string): string {
  const isJoined = !path.includes('//') && !path.endsWith('/')
  const joined = isJoined ? path : path.replaceAll(/\/{2,}/g, '/').replace(/\/$/, '')
  return joined.startsWith('/v1/') ? stripVersion(stripVersion(joined)) : path
}

function stripVersion(path: string): string {
  return path.startsWith('/v1/') ? path.slice('/v1'.length) : path
}
