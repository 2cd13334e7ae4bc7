/** The endpoints of the admin API, and the exports of its lists, as operations of the OpenAPI document. */
import { OpenAPIHono, z } from '@hono/zod-openapi'
import type { Endpoint } from '../api/endpoint.ts'
import { filtersOf } from '../api/serve.ts'

type Registry = OpenAPIHono['openAPIRegistry']
type Responses = Parameters<Registry['registerPath']>[0]['responses']

const error = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
  }),
})

function response(description: string, schema: z.ZodType, type = 'application/json') {
  return { description, content: { [type]: { schema } } }
}

const errorResponse = response('An error.', error)
const errorResponses: Responses = {
  400: errorResponse,
  401: errorResponse,
  403: errorResponse,
  404: errorResponse,
  409: errorResponse,
  503: errorResponse,
}

function pathParameters(path: string): { params?: z.ZodObject } {
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => [name, z.string()] as const)
  return names.length === 0 ? {} : { params: z.object(Object.fromEntries(names)) }
}

function registerEndpoint(registry: Registry, basePath: string, endpoint: Endpoint): void {
  const { method, path, summary, description, query, body, status, existing, mediaType } = endpoint
  registry.registerPath({
    method,
    path: basePath + path,
    summary,
    ...(description !== undefined && { description }),
    request: {
      ...pathParameters(path),
      ...(query instanceof z.ZodObject && { query }),
      ...(body && {
        body: {
          content: { 'application/json': { schema: body } },
          ...(!(body instanceof z.ZodOptional) && { required: true }),
        },
      }),
    },
    responses: {
      [status]: response(endpoint.returns, endpoint.response, mediaType),
      ...(existing !== undefined && { 200: response(existing, endpoint.response) }),
      ...errorResponses,
    },
  })
}

function registerExport(registry: Registry, basePath: string, endpoint: Endpoint): void {
  const { path, summary } = endpoint
  registry.registerPath({
    method: 'get',
    path: `${basePath}${path}.csv`,
    summary: `Export as CSV: ${summary.replace(/^(List|Search|Get) /, '')}`,
    request: { ...pathParameters(path), query: filtersOf(endpoint) },
    responses: {
      200: response('All rows as CSV (RFC 4180) with a header line.', z.string(), 'text/csv'),
      ...errorResponses,
    },
  })
}

/** The paths and components of a document. */
export function describeEndpoints(basePath: string, endpoints: readonly Endpoint[]) {
  const app = new OpenAPIHono()
  const registry = app.openAPIRegistry
  for (const endpoint of endpoints) registerEndpoint(registry, basePath, endpoint)
  for (const endpoint of endpoints) if (endpoint.csv) registerExport(registry, basePath, endpoint)
  return app.getOpenAPI31Document({ openapi: '3.1.0', info: { title: '', version: '' } })
}
