/**
 * How every failure of this API becomes the one body of errors: what zod found, what Hono threw, what a room refused,
 * and our own bugs, which are told to the log in full and to the caller as nothing.
 */
import { HTTPException } from 'hono/http-exception'
import type { ZodError } from 'zod'
import { StoreError } from '../../db/store-error.ts'
import { Refusal, refusalOf, refuse } from '../../errors.ts'

function pathOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return text === '' ? String(part) : `${text}.${String(part)}`
  }, '')
}

/** 400 naming the field at fault by its path; unknown fields are all named. */
export function refusalOfZod(error: Pick<ZodError, 'issues'>): Refusal {
  const unknown = error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => pathOf([...issue.path, key])) : [],
  )
  if (unknown.length > 0) {
    const message = `Unknown field${unknown.length > 1 ? 's' : ''}: ${unknown.join(', ')}.`
    return refuse('invalid_request', { param: unknown[0], message })
  }
  const issue = error.issues[0]
  const param = pathOf(issue?.path ?? [])
  const words = issue?.message ?? 'is not valid'
  if (param === '') return refuse('invalid_request', { message: `The body is not as expected: ${words}.` })
  if (words.endsWith('received undefined')) {
    return refuse('invalid_request', { param, message: `${param} is missing.` })
  }
  const message = words.startsWith('has ') ? `${param} ${words}.` : `${param}: ${words}.`
  return refuse('invalid_request', { param, message })
}

const byStatus = {
  400: 'invalid_json',
  413: 'request_too_large',
  415: 'unsupported_media_type',
} as const

/** The refusal behind whatever was thrown; `isOurs` when it is a bug that has to be looked at. */
export function refusalOfThrown(error: unknown): { refusal: Refusal; isOurs: boolean } {
  if (error instanceof HTTPException) {
    const code = Object.entries(byStatus).find(([status]) => Number(status) === error.status)?.[1]
    if (code !== undefined) return { refusal: refuse(code), isOurs: false }
  }
  if (error instanceof StoreError && error.class !== 'invalid') {
    const refusal = refuse(error.class === 'conflict' ? 'conflict' : 'service_unavailable')
    return { refusal, isOurs: error.class === 'failed' }
  }
  return { refusal: refusalOf(error), isOurs: !(error instanceof Refusal) }
}
