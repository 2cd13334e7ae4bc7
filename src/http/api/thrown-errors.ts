/**
 * Converts everything that can be thrown to an API error: validation errors of zod, exceptions of Hono, errors of the
 * modules, and our own bugs, which are logged in full and shown to callers without details.
 */
import { HTTPException } from 'hono/http-exception'
import type { ZodError } from 'zod'
import { StoreError } from '../../db/store-error.ts'
import { ApiError, asApiError, apiError } from '../../errors.ts'

/** The path of a field: `routes[0].model`. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return text === '' ? String(part) : `${text}.${String(part)}`
  }, '')
}

type Issue = ZodError['issues'][number]

/** Of a union, the issues of the option that the value is nearest to: the one that goes wrong furthest inside of it. */
function issuesIn(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const depth = (issues: readonly Issue[]): number => Math.max(0, ...issues.map(({ path }) => path.length))
  const nearest = issue.errors.toSorted((left, right) => depth(right) - depth(left))[0] ?? []
  if (depth(nearest) === 0) return [issue]
  return nearest.flatMap((inner) => issuesIn({ ...inner, path: [...issue.path, ...inner.path] }))
}

/** Creates a 400 with the path of the invalid field. Lists all unknown fields. */
export function apiErrorFromZod(error: Pick<ZodError, 'issues'>): ApiError {
  const issues = error.issues.flatMap(issuesIn)
  const unknown = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => formatPath([...issue.path, key])) : [],
  )
  if (unknown.length > 0) {
    const message = `Unknown field${unknown.length > 1 ? 's' : ''}: ${unknown.join(', ')}.`
    return apiError('invalid_request', { param: unknown[0], message })
  }
  const [issue] = issues
  const param = formatPath(issue?.path ?? [])
  const reason = issue?.message.replace(/^Invalid input: /, '') ?? 'not valid'
  if (param === '') return apiError('invalid_request', { message: `Invalid request body: ${reason}.` })
  if (reason.endsWith('received undefined')) {
    return apiError('invalid_request', { param, message: `Missing required field: ${param}.` })
  }
  return apiError('invalid_request', { param, message: `Invalid \`${param}\`: ${reason}.` })
}

const codeByStatus = {
  400: 'invalid_json',
  413: 'request_too_large',
  415: 'unsupported_media_type',
} as const

/** Converts what was thrown to an API error. `isBug`: it is our bug and must be logged. */
export function apiErrorFromThrown(thrown: unknown): { error: ApiError; isBug: boolean } {
  if (thrown instanceof HTTPException) {
    const code = Object.entries(codeByStatus).find(([status]) => Number(status) === thrown.status)?.[1]
    if (code !== undefined) return { error: apiError(code), isBug: false }
  }
  if (thrown instanceof StoreError && thrown.class !== 'invalid') {
    const error = apiError(thrown.class === 'conflict' ? 'conflict' : 'service_unavailable')
    return { error, isBug: thrown.class === 'failed' }
  }
  return { error: asApiError(thrown), isBug: !(thrown instanceof ApiError) }
}
