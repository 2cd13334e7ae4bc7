/** One-time links for users who have no password yet or cannot sign in. */
import { useState } from 'react'
import { mutateAdmin } from '../../api/admin-queries.ts'
import { useConsoleLink } from '../../api/session.ts'
import type { Account, AccessLink } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { confirm } from './confirm-dialog.tsx'
import { Dialog } from '../forms/dialog.tsx'
import { OneTimeSecret } from './one-time-secret.tsx'
import { formatExactTime } from '../tables/format-cells.tsx'

export interface AccessLinkDialogProps {
  readonly link: AccessLink | null
  readonly close: () => void
}

export function AccessLinkDialog({ link, close }: AccessLinkDialogProps) {
  const t = useMessages('operations').users
  return (
    <Dialog title={t.link} opened={link !== null} close={close}>
      {link !== null && <OneTimeLink link={link} close={close} />}
    </Dialog>
  )
}

function OneTimeLink({ link, close }: { readonly link: AccessLink; readonly close: () => void }) {
  const t = useMessages('operations').users
  return (
    <OneTimeSecret secret={useConsoleLink(link.url)} close={close}>
      <p>{t.linkLead(formatExactTime(link.expires_at))}</p>
    </OneTimeSecret>
  )
}

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
      <AccessLinkDialog link={link} close={() => setLink(null)} />
    </>
  )
}
