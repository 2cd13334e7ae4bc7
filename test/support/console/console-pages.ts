/** The pages of the console, for tests that visit all of them. */

/** The current month of an account in the default time zone. */
const month = new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 7)

/** The customer's pages, each with the dialogs to open on it; `none` is where an id belongs. */
export const customerPages = [
  '/overview',
  '/keys ?add=yes',
  '/usage',
  '/usage/req_none',
  '/billing ?edit=caps',
  `/billing/${month}`,
  '/billing/recharge',
  '/billing/orders/none',
  '/billing/orders/none/receipt',
  '/billing/invoices ?add=title ?add=invoice',
  '/models',
  '/playground',
  '/limits ?ask=yes',
  '/notices',
  '/guide',
  '/profile',
]

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

/** The operator's pages, in the same form. */
export const operatorPages = [
  '/operator/dashboard',
  '/operator/requests',
  '/operator/requests/req_none',
  '/operator/failures',
  '/operator/incidents ?add=yes',
  '/operator/upstreams ?add=yes',
  '/operator/audit',
  '/operator/upstreams/none',
  '/operator/models ?add=yes ?seed=yes',
  '/operator/payments ?compare=yes ?rate=USD',
  '/operator/payments/bank',
  '/operator/invoices ?issue=none ?refuse=none ?reverse=none',
  '/operator/ledger',
  '/operator/models/none',
  '/operator/accounts ?add=yes',
  '/operator/accounts/acc_none',
  '/operator/keys',
  '/operator/people ?invite=yes',
  '/operator/tiers ?add=yes ?edit=new',
  '/operator/limit-requests',
  '/operator/vouchers ?add=yes',
  '/operator/promotions ?add=yes ?add=recharge',
  '/operator/announcements ?add=yes',
  '/operator/branding ?edit=yes',
  '/operator/settings',
  '/operator/backups',
  '/operator/notices ?add=yes',
]
