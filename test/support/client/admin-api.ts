/** Admin API calls with the response each must return. */
import assert from 'node:assert/strict'
import type { TestServer } from '../server/test-server.ts'

export type JsonObject = Record<string, unknown>

export interface List<Item = JsonObject> {
  readonly data: Item[]
  readonly next: string | null
}

/** Makes one call, checks its status, and returns the body. */
export async function expectResponse<Answer = JsonObject>(
  server: TestServer,
  status: number,
  call: readonly [string, string, unknown?],
): Promise<Answer> {
  const response = await server.relay.adminResponse(...call)
  const body: unknown = await response.json()
  assert.equal(response.status, status, `${call[0]} ${call[1]}: ${JSON.stringify(body)}`)
  assert.match(response.headers.get('x-request-id') ?? '', /^req_/)
  return body as Answer
}

export async function expectError(
  server: TestServer,
  status: number,
  call: readonly [string, string, unknown?],
): Promise<unknown> {
  const { error } = await expectResponse(server, status, call)
  assert.deepEqual(Object.keys(error as JsonObject).toSorted(), ['code', 'message', 'param', 'type'])
  return (error as JsonObject)['param']
}

interface OpenApiDocument {
  readonly paths: Record<string, Record<string, unknown>>
}

/** Every admin endpoint in the OpenAPI document, with `x` in place of each id. */
export async function adminEndpoints(server: TestServer): Promise<[method: string, path: string][]> {
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as OpenApiDocument
  const endpoints = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method): [string, string] => [
      method.toUpperCase(),
      path.replaceAll(/\{\w+\}/g, 'x'),
    ]),
  )
  return endpoints.filter(([, path]) => path.startsWith('/api/admin/'))
}

export interface OpenedAccount {
  readonly id: string
  readonly balance: string
  /** Absent if no trial was requested. */
  readonly trial_credit?: JsonObject
}

export function openTrialAccount(
  server: TestServer,
  email: string,
  fields: object = {},
): Promise<OpenedAccount> {
  return expectResponse<OpenedAccount>(server, 201, ['POST', '/accounts', { email, trial: true, ...fields }])
}

export function createPromotion(server: TestServer, fields: object = {}): Promise<JsonObject> {
  return expectResponse(server, 201, ['POST', '/promotions', { name: 'Welcome', amount: '5', ...fields }])
}
