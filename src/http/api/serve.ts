/**
 * Serves the endpoints of an API (`endpoint.ts`) with Hono: reads the input of each request, calls the endpoint with the
 * context of its audience, and responds. Each list with columns is also exported as CSV.
 */
import { z } from 'zod'
import type { Context, Env, Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { apiError, type ApiError } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'
import { exportList, exportPageRows, type ExportOptions, type ListPage } from '../csv-export.ts'
import { unboundedExport, type Export } from '../exports.ts'
import type { Endpoint, RawInput } from './endpoint.ts'
import { apiErrorFromThrown, apiErrorFromZod } from './thrown-errors.ts'

const jsonType = /^application\/(?:[a-z.-]+\+)?json\s*(?:;|$)/i

/** A body without a type must be empty. */
async function readJsonBody(c: Context, acceptsEmpty: boolean): Promise<unknown> {
  const type = c.req.header('content-type') ?? ''
  const text = await c.req.text()
  if (text === '' && (type === '' || acceptsEmpty)) return {}
  if (!jsonType.test(type)) throw apiError('unsupported_media_type')
  try {
    return JSON.parse(text)
  } catch {
    throw apiError('invalid_json')
  }
}

/** Throws 400 for escapes of bytes that are no UTF-8, which Hono takes as text. */
function requireUtf8(url: string): void {
  if (!url.includes('%')) return
  for (const part of new URL(url).search.slice(1).split('&')) {
    try {
      // A percent sign that escapes nothing is text.
      decodeURIComponent(part.replaceAll(/%(?![\da-f]{2})/gi, '%25'))
    } catch {
      const [param = ''] = part.split('=')
      const message = `Invalid \`${param}\`: must be well-formed Unicode without U+0000.`
      throw apiError('invalid_request', { param, message })
    }
  }
}

function readInput(c: Context, acceptsEmptyBody = false): RawInput {
  requireUtf8(c.req.url)
  const parameters = Object.entries(c.req.queries())
  const query = parameters.map(([name, values]) => [name, values.length === 1 ? values[0] : values] as const)
  return {
    params: c.req.param(),
    query: Object.fromEntries(query),
    body: () => readJsonBody(c, acceptsEmptyBody),
  }
}

export interface ServeOptions<E extends Env, RequestContext> {
  /** Authenticates a request as the audience of the endpoint requires, and creates the context for its handler. */
  readonly open: (c: Context<E>, endpoint: Endpoint<RequestContext>) => Promise<RequestContext>
  readonly readerOf: (context: RequestContext) => Omit<ExportOptions, 'readPage' | 'slot'>
  /** Begins an export; absent: it is no account's. Throws 429. */
  readonly beginExport?: (context: RequestContext) => Promise<Export>
  /** Reads the body, once the request is authenticated; absent: a middleware has. Disposed of after the call. */
  readonly receiveBody?: (c: Context<E>, context: RequestContext) => Promise<Disposable>
  /** Whether an empty body is `{}` with any content type, too. */
  readonly acceptsEmptyBody?: boolean
}

/** The filters of a list: its query without the fields of pages. */
export function filtersOf({ query }: Pick<Endpoint, 'query'>): z.ZodObject {
  const { limit: _limit, cursor: _cursor, ...filters } = query instanceof z.ZodObject ? query.shape : {}
  return z.strictObject(filters)
}

/** Reads every row through the endpoint, so that authorization, filters and rows are those of the list. */
async function serveExport<E extends Env, RequestContext>(
  c: Context<E>,
  endpoint: Endpoint<RequestContext>,
  { open, readerOf, beginExport }: ServeOptions<E, RequestContext>,
): Promise<Response> {
  const { path, csv: columns = [], query } = endpoint
  const context = await open(c, endpoint)
  const input = readInput(c)
  const isPaged = query instanceof z.ZodObject && 'limit' in query.shape
  const filters = filtersOf(endpoint).safeParse(input.query)
  if (!filters.success) throw apiErrorFromZod(filters.error)
  const list = { path, columns }
  return exportList(c, list, {
    ...readerOf(context),
    slot: (await beginExport?.(context)) ?? unboundedExport,
    async readPage(cursor) {
      const page = isPaged ? { limit: exportPageRows, ...(cursor !== undefined && { cursor }) } : {}
      const { value } = await endpoint.run(context, { ...input, query: { ...input.query, ...page } })
      return value as ListPage
    },
  })
}

/** Registers the endpoints in matching order: a fixed path must come before one with a parameter. */
export function serveEndpoints<E extends Env, RequestContext>(
  app: Hono<E>,
  endpoints: readonly Endpoint<RequestContext>[],
  options: ServeOptions<E, RequestContext>,
): void {
  for (const endpoint of endpoints) {
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1')
    if (endpoint.csv) app.get(`${path}.csv`, (c) => serveExport(c, endpoint, options))
    app.on(endpoint.method, path, async (c) => {
      const context = await options.open(c, endpoint)
      using _body = await options.receiveBody?.(c, context)
      await using _export = endpoint.path.endsWith('.pdf') ? await options.beginExport?.(context) : undefined
      const { status, value } = await endpoint.run(context, readInput(c, options.acceptsEmptyBody))
      return value instanceof Response ? c.newResponse(value.body, value) : c.json(value as object, status)
    })
  }
}

export function sendError(c: Context, error: ApiError): Response {
  if (error.code === 'invalid_api_key') c.header('www-authenticate', 'Bearer')
  const { retryAfterMs, acceptEncoding } = error.detail
  if (acceptEncoding !== undefined) c.header('accept-encoding', acceptEncoding)
  if (retryAfterMs !== undefined) c.header('retry-after', String(Math.ceil(retryAfterMs / 1000)))
  if (error.final) c.header('x-should-retry', 'false')
  return c.json(error.toBody(), error.status as ContentfulStatusCode)
}

/** What all responses of both APIs have in common. `onInternalError`: receives bugs; callers get no details of them. */
export function prepareApi<E extends Env>(
  app: Hono<E>,
  onInternalError: ((error: unknown, requestId: string) => void) | undefined,
): void {
  app.use(async (c, next) => {
    c.header('x-request-id', newId('req'))
    c.header('cache-control', 'no-store')
    await next()
  })
  app.notFound((c) => sendError(c, apiError('not_found')))
  app.onError((thrown, c) => {
    const { error, isBug } = apiErrorFromThrown(thrown)
    if (isBug) onInternalError?.(thrown, c.res.headers.get('x-request-id') ?? '')
    return sendError(c, error)
  })
}
