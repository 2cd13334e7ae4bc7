/** `.csv` after the path of a list: all rows that its filters select. */
import { createRoute, z, type OpenAPIHono } from '@hono/zod-openapi'
import { exportList, exportPageRows, type ListPage } from '../csv-export.ts'
import { adminExports } from './csv-exports.ts'
import { errorResponses } from './schemas.ts'

const pageFields: ReadonlySet<string> = new Set(['limit', 'cursor'])

/** What the list declares: its parameters, and its query without the fields of pages. */
function listDeclaration(app: OpenAPIHono, path: string) {
  for (const definition of app.openAPIRegistry.definitions) {
    if (definition.type !== 'route' || definition.route.method !== 'get') continue
    if (definition.route.path !== path) continue
    const { params, query } = definition.route.request ?? {}
    const shape = query instanceof z.ZodObject ? query.shape : {}
    const filters = Object.entries(shape).filter(([name]) => !pageFields.has(name))
    const summary = String(definition.route.summary).replace(/^(List|Search|Get) /, '')
    return {
      params,
      summary,
      filters: z.strictObject(Object.fromEntries(filters)),
      hasPages: 'limit' in shape,
    }
  }
  throw new Error(`No list at ${path}`)
}

/**
 * Adds the export of each list to the application that has the lists. An export reads its list through the application,
 * so that authorization, filters and rows are those of the list.
 */
export function addCsvExports(app: OpenAPIHono, adminPath: string, forPeople: boolean): void {
  for (const list of adminExports) {
    const { params, summary, filters, hasPages } = listDeclaration(app, adminPath + list.path)
    const route = createRoute({
      method: 'get',
      path: `${adminPath + list.path}.csv`,
      summary: `Export as CSV: ${summary}`,
      request: { query: filters, ...(params !== undefined && { params }) },
      responses: {
        200: {
          description: 'All rows as CSV (RFC 4180) with a header line.',
          content: { 'text/csv': { schema: z.string() } },
        },
        ...errorResponses,
      },
    })
    app.openapi(route, async (c) => {
      const readPage = async (cursor?: string): Promise<Response> => {
        const url = new URL(c.req.url)
        url.pathname = url.pathname.replace(/\.csv$/, '')
        if (hasPages) url.searchParams.set('limit', String(exportPageRows))
        if (cursor !== undefined) url.searchParams.set('cursor', cursor)
        return app.fetch(new Request(url, { headers: c.req.raw.headers }), c.env)
      }
      const first = await readPage()
      if (!first.ok) return first
      return exportList(c, list, {
        timezone: 'UTC',
        forPeople,
        async readPage(cursor) {
          const page = cursor === undefined ? first : await readPage(cursor)
          if (!page.ok) throw new Error(`Reading ${list.path} failed with status ${page.status}`)
          return (await page.json()) as ListPage
        },
      })
    })
  }
}
