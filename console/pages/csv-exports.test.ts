import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { adminExports } from '../../src/http/admin/endpoints.ts'
import { endpoints } from '../../src/http/console/endpoints.ts'

/** Pages with tables that nobody works with elsewhere, and why. */
const withoutExport: Readonly<Record<string, string>> = {
  'customer/guide.tsx': 'documentation',
  'customer/limits.tsx': 'a handful of settings, and requests that the customer wrote',
  'customer/models.tsx': 'GET /v1/models',
  'customer/notifications.tsx': 'messages',
  'customer/order.tsx': 'one order',
  'customer/profile.tsx': 'sessions and passkeys',
  'customer/receipt.tsx': 'one payment',
  'customer/recharge.tsx': 'a form',
  'customer/request.tsx': 'one request',
  'operator/billing/bank-list.tsx': 'a list that the operator pasted',
  'operator/catalog/model.tsx': 'one model; its requests and prices are exported as lists',
  'operator/catalog/upstream.tsx': 'one upstream',
  'operator/monitor/request.tsx': 'one request',
  'operator/system/announcements.tsx': 'messages',
  'operator/system/backups.tsx': 'files',
  'operator/system/branding.tsx': 'settings',
  'operator/system/notification-channels.tsx': 'settings and messages',
  'operator/system/settings.tsx': 'settings',
}

function readSources(folder: string) {
  return globSync('**/*.tsx', { cwd: folder })
    .toSorted()
    .map((file) => ({ file, source: readFileSync(join(folder, file), 'utf8') }))
}

const pages = readSources(import.meta.dirname)
const sources = [...pages, ...readSources(join(import.meta.dirname, '../components'))]
const hasList = /<(PagedList|\w*Table|\w*List)\b/
const exportPaths = new Set([
  ...adminExports.map(({ path }) => `/admin${path}`),
  ...endpoints.flatMap(({ path, csv }) =>
    csv === undefined ? [] : [`/console${path.replaceAll(/\{\w+\}/g, '{id}')}`],
  ),
])

/** The list paths of a source, with `{id}` for what is inserted. */
function pathsIn(source: string): string[] {
  return Array.from(
    source.matchAll(/\bpath(?:=|:|\s=)\s*\{?['"`](\/(?:admin|console)\/[^'"`]+)/g),
    ([, path = '']) => path.replaceAll(/\$\{[^}]+\}/g, '{id}'),
  )
}

describe('CSV exports of the console', () => {
  test('Pages with a list – have an export of it, unless there is a reason', () => {
    const lists = pages.filter(({ source }) => hasList.test(source) && source.includes('<Page'))
    assert.ok(lists.length > 20)
    const without = lists.filter(({ source }) => !/\bcsv=\{/.test(source)).map(({ file }) => file)
    assert.deepEqual(without, Object.keys(withoutExport))
  })

  test('Lists that the server can export – have a link to the export', () => {
    const shown = sources.flatMap(({ source }) => pathsIn(source))
    const linked = sources
      .filter(({ source }) => /\bcsv=\{/.test(source))
      .flatMap(({ source }) => pathsIn(source))
      .filter((path) => exportPaths.has(path))
    assert.deepEqual(new Set(linked), exportPaths, 'each export has a link')
    for (const path of shown) if (exportPaths.has(path)) assert.ok(linked.includes(path), path)
  })

  test('Links – lead to exports of the server', () => {
    for (const { file, source } of sources)
      for (const [, path = ''] of source.matchAll(/\{\s*path: ['`]([^'`]+)/g))
        assert.ok(exportPaths.has(path.replaceAll(/\$\{[^}]+\}/g, '{id}')), `${file}: ${path}`)
  })
})
