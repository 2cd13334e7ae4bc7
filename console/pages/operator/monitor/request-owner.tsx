/** Filters by account and key, typed as people know them: an e-mail address, a name, the start of a key, or an id. */
import { queryOptions } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get, queryString } from '../../../api/client.ts'
import type { Account, AdminApiKey, Page } from '../../../api/contract.ts'
import { useMessages } from '../../../locales/messages.ts'
import { EmptyState } from '../../../components/feedback/empty-state.tsx'

/** More matches are no help: the account or more of the name is. */
const maxMatches = 10

interface OwnerMatch {
  readonly id: string
  readonly label: string
}

export interface OwnerFilter {
  readonly account?: string | undefined
  readonly key?: string | undefined
}

interface UnclearFilter {
  readonly unclear: 'account' | 'key'
  readonly text: string
  /** Empty: nothing matches. */
  readonly matches: readonly OwnerMatch[]
}

const completeEmail = /^[\w.+-]{1,64}@[a-z\d-]+(\.[a-z\d-]+)+$/i

async function findAccounts(text: string): Promise<readonly OwnerMatch[]> {
  if (/^acc_\w+$/.test(text)) return [{ id: text, label: text }]
  const search = async (query: Record<string, string | number>): Promise<readonly Account[]> =>
    (await get<Page<Account>>(`/admin/accounts${queryString(query)}`)).data
  // A complete address is also a part of longer ones.
  const exact = completeEmail.test(text) ? await search({ email: text }) : []
  const accounts = exact.length > 0 ? exact : await search({ q: text, limit: maxMatches })
  return accounts.map(({ id, email, name }) => ({ id, label: name === '' ? email : `${email} (${name})` }))
}

async function findKeys(text: string, account: string | undefined): Promise<readonly OwnerMatch[]> {
  // `con_`: the key that the console itself uses for an account.
  if (/^(key|con)_\w+$/.test(text)) return [{ id: text, label: text }]
  const query = queryString({ q: text, account, limit: maxMatches })
  const { data } = await get<Page<AdminApiKey>>(`/admin/keys${query}`)
  const exact = data.filter(({ name }) => name.toLowerCase() === text.toLowerCase())
  return (exact.length > 0 ? exact : data).map((key) => ({
    id: key.id,
    label: `${key.name} · ${key.prefix}…${key.last_four} · ${key.account_email}`,
  }))
}

async function findOwner({ account, key }: OwnerFilter): Promise<OwnerFilter | UnclearFilter> {
  const accounts = account === undefined ? [] : await findAccounts(account)
  if (account !== undefined && accounts.length !== 1)
    return { unclear: 'account', text: account, matches: accounts }
  const accountId = accounts[0]?.id
  const keys = key === undefined ? [] : await findKeys(key, accountId)
  if (key !== undefined && keys.length !== 1) return { unclear: 'key', text: key, matches: keys }
  return { account: accountId, key: keys[0]?.id }
}

/** The ids that the typed filters stand for. */
export function ownerQuery(filter: OwnerFilter) {
  return queryOptions({
    queryKey: ['admin', 'request-owner', filter.account, filter.key],
    queryFn: () => findOwner(filter),
  })
}

/** Says that nothing matches a filter, or asks which of several matches is meant. */
export function UnclearOwner({ unclear, text, matches }: UnclearFilter) {
  const t = useMessages('customers').requests
  const isAccount = unclear === 'account'
  if (matches.length === 0) {
    return (
      <EmptyState title={isAccount ? t.noAccount(text) : t.noKey(text)}>
        {isAccount ? t.notFoundLead : t.noKeyLead}
      </EmptyState>
    )
  }
  return (
    <EmptyState title={isAccount ? t.severalAccounts(text) : t.severalKeys(text)}>
      <ul>
        {matches.map(({ id, label }) => (
          <li key={id}>
            <Link to="/operator/requests" search={(search) => ({ ...search, [unclear]: id })}>
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </EmptyState>
  )
}
