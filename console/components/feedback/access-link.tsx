/** Creates a one-time link for the user of an account who has no password yet or cannot sign in. */
import { useState } from 'react'
import { mutateAdmin } from '../../api/admin-queries.ts'
import type { Account, AccessLink } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { confirm } from './confirm-dialog.tsx'
import { Dialog } from '../forms/fields.tsx'
import { OneTimeSecret } from './one-time-secret.tsx'
import { formatExactTime } from '../tables/format-cells.tsx'

export function AccessLinkButton({ account }: { readonly account: Account }) {
  const t = useMessages('customers').account
  const userMessages = useMessages('operations').users
  const [link, setLink] = useState<AccessLink | null>(null)
  const confirmLink = (): void =>
    confirm({
      title: t.linkTitle(account.email),
      description: userMessages.resetEffect,
      confirmLabel: t.makeLink,
      isSafe: true,
      onConfirm: async () =>
        setLink(await mutateAdmin<AccessLink>('POST', `/accounts/${account.id}/access-link`, {})),
      successMessage: userMessages.resetDone,
    })
  return (
    <>
      <button type="button" className="link" onClick={confirmLink}>
        {t.makeLink}
      </button>
      <Dialog title={userMessages.link} opened={link !== null} close={() => setLink(null)}>
        {link !== null && (
          <OneTimeSecret secret={link.url} close={() => setLink(null)}>
            <p>{userMessages.linkLead(formatExactTime(link.expires_at))}</p>
          </OneTimeSecret>
        )}
      </Dialog>
    </>
  )
}
