import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startAdminServer } from '../admin/admin-server.fixture.ts'
import { authenticateByKey } from '../admin/admin-context.ts'
import { adminPath, createAdminApp } from '../admin/app.ts'
import { adminEndpoints } from '../admin/endpoints.ts'
import { openapiDocument } from './document.ts'

interface Operation {
  readonly summary?: string
  readonly responses: Record<string, unknown>
  readonly parameters?: { name: string; in: string }[]
  readonly security?: unknown
}

describe('openapiDocument', () => {
  test('document – describes all admin and public endpoints; all references resolve', async (t) => {
    const { ctx } = await startAdminServer(t)
    const app = createAdminApp(ctx, { authenticate: authenticateByKey(null) })
    const document = JSON.parse(JSON.stringify(openapiDocument(adminPath, adminEndpoints, '1.2.3'))) as {
      info: { version: string }
      paths: Record<string, Record<string, Operation>>
      components: { schemas: Record<string, unknown> }
    }
    assert.equal(document.info.version, '1.2.3')
    const described = Object.entries(document.paths).flatMap(([path, calls]) =>
      Object.keys(calls).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const served = app.routes
      .filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`)
    assert.deepEqual(
      [...new Set(served)].filter((route) => !described.includes(route)),
      [],
    )
    for (const path of [
      '/v1/chat/completions',
      '/v1/responses',
      '/v1/responses/compact',
      '/v1/responses/input_tokens',
      '/v1/messages',
      '/v1/messages/count_tokens',
      '/v1/models',
      '/v1/balance',
      '/healthz',
      '/readyz',
      '/metrics',
    ]) {
      assert.ok(document.paths[path], path)
    }
    // An `Idempotency-Key` replays what a POST has returned.
    assert.doesNotMatch(JSON.stringify(document), /only once/)
    const references = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)
    for (const [, name = ''] of references) assert.ok(document.components.schemas[name], name)
    for (const [path, calls] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(calls)) {
        const at = `${method} ${path}`
        assert.ok(operation.summary, at)
        const isAdminPost = method === 'post' && path.startsWith('/api/admin/')
        const hasKey = operation.parameters?.some(({ name }) => name === 'Idempotency-Key') ?? false
        if (path.startsWith('/api/admin/')) assert.equal(hasKey, isAdminPost, at)
        if (isAdminPost) assert.ok(operation.responses['409'] && operation.responses['422'], at)
        assert.ok(
          Object.keys(operation.responses).some((status) => /^(?:101|20[01])$/.test(status)),
          at,
        )
        const inPath = operation.parameters?.filter((parameter) => parameter.in === 'path') ?? []
        assert.deepEqual(
          inPath.map((parameter) => parameter.name),
          Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name),
          at,
        )
      }
    }
  })
})
