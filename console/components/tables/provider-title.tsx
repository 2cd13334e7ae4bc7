/** A provider's name as the upstream form shows it, for the identifier that an upstream has. */
import { useQuery } from '@tanstack/react-query'
import { providersQuery } from '../../api/admin-queries.ts'
import { ServerText } from './server-text.tsx'

export function ProviderTitle({ provider }: { readonly provider: string }) {
  const providers = useQuery(providersQuery).data?.data ?? []
  const title = providers.find(({ name }) => name === provider)?.title
  return title === undefined ? provider : <ServerText text={title} />
}
