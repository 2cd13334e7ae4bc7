/** The pages of the console, for tests that visit all of them: read from its routes. */
import assert from 'node:assert/strict'
import { readText } from '../source-files.ts'

/** The current month of an account in the default time zone. */
const month = new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 7)

/** The dialogs to open on a page; `none` is where an id belongs. A page with the parameter `add` needs one. */
const dialogs: Readonly<Record<string, readonly string[]>> = {
  '/keys': ['?add=yes'],
  '/billing': ['?edit=caps'],
  '/billing/invoices': ['?add=title', '?add=invoice'],
  '/limits': ['?ask=yes'],
  '/operator/incidents': ['?add=yes'],
  '/operator/upstreams': ['?add=yes'],
  '/operator/models': ['?add=yes', '?seed=yes'],
  '/operator/payments': ['?compare=yes', '?rate=USD'],
  '/operator/invoices': ['?issue=none', '?refuse=none', '?reverse=none'],
  '/operator/accounts': ['?add=yes'],
  // A missing account shows no dialog.
  '/operator/accounts/$id': [],
  '/operator/people': ['?invite=yes'],
  '/operator/tiers': ['?add=yes', '?edit=new'],
  '/operator/vouchers': ['?add=yes'],
  '/operator/promotions': ['?add=yes', '?add=recharge'],
  '/operator/announcements': ['?add=yes'],
  '/operator/branding': ['?edit=yes'],
  '/operator/notices': ['?add=yes'],
}

interface Route {
  /** With the names of its parameters: `/usage/$id`. */
  readonly path: string
  /** The parameters of its query. */
  readonly query: readonly string[]
}

/** The routes in a file of the console below one route. */
function readRoutes(file: string, parent: string, prefix = ''): Route[] {
  const [, ...routes] = readText(file).split(/\bcreateRoute\(\{/)
  return routes
    .filter((text) => text.includes(`getParentRoute: () => ${parent},`))
    .map((text) => ({
      path: prefix + (/\bpath: '([^']+)'/.exec(text)?.[1] ?? ''),
      query: [...(/\bstringParams\(([^)]*)\)/.exec(text)?.[1] ?? '').matchAll(/'(\w+)'/g)].map(
        ([, name = '']) => name,
      ),
    }))
}

/** The path with ids that do not exist in place of parameters. */
function fillParameters(path: string): string {
  return path
    .replace('$month', month)
    .replace(/(usage|requests)\/\$id/, '$1/req_none')
    .replace('accounts/$id', 'accounts/acc_none')
    .replace('$id', 'none')
}

function pageOf({ path, query }: Route): string {
  const opened = dialogs[path] ?? []
  const names = opened.map((dialog) => /^\?(\w+)=/.exec(dialog)?.[1] ?? '')
  assert.ok(
    names.every((name) => query.includes(name)) && (path in dialogs || !query.includes('add')),
    `${path}: correct its dialogs in test/support/console/console-pages.ts`,
  )
  return [fillParameters(path), ...opened].join(' ')
}

const customerRoutes = readRoutes('console/routes.tsx', 'shellRoute').filter(({ path }) => path !== '/')
const operatorRoutes = readRoutes('console/operator-routes.tsx', 'operatorRoute', '/operator')
const known = new Set([...customerRoutes, ...operatorRoutes].map(({ path }) => path))
for (const path of Object.keys(dialogs)) assert.ok(known.has(path), `the console has no page ${path}`)

/** The pages before sign-in. */
export const publicPages = readRoutes('console/routes.tsx', 'rootRoute').map(({ path }) => path)

/** The customer's pages, each with its dialogs: `/keys ?add=yes`. */
export const customerPages = customerRoutes.map(pageOf)

/** The operator's pages, in the same form. */
export const operatorPages = operatorRoutes.map(pageOf)

/** What the pages show in place of `none`. */
export interface PageIds {
  readonly account: string
  readonly upstream: string
  readonly model: string
  /** The page of a request is visited with each of them. */
  readonly requests: readonly string[]
}

/** The paths of these pages and of their dialogs. */
export function pathsOf(pages: readonly string[], ids: PageIds): string[] {
  return pages.flatMap((page) => {
    const [path = '', ...dialogs] = page.split(' ')
    if (path.includes('req_none')) return ids.requests.map((id) => path.replace('req_none', id))
    return [path, ...dialogs.map((dialog) => path + dialog)].map((each) =>
      each
        .replace('acc_none', ids.account)
        .replace('upstreams/none', `upstreams/${ids.upstream}`)
        .replace('models/none', `models/${ids.model}`),
    )
  })
}
