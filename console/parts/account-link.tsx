/** The way in for the person of an account that was opened for them, or who can not sign in any more. */
import { useState } from 'react'
import { change } from '../api/admin-queries.ts'
import type { Account, Link as AccessLink } from '../contract.ts'
import { useWords } from '../language.ts'
import { confirm } from './confirm.tsx'
import { Dialog } from '../components/forms/fields.tsx'
import { Secret } from '../components/feedback/one-time-secret.tsx'
import { exactTime } from '../components/tables/format-cells.tsx'

export function AccountLink({ account }: { readonly account: Account }) {
  const words = useWords('clients').account
  const people = useWords('running').people
  const [link, setLink] = useState<AccessLink | null>(null)
  const make = (): void =>
    confirm({
      title: words.linkTitle(account.email),
      effect: people.resetEffect,
      verb: words.makeLink,
      isHarmless: true,
      carryOut: async () =>
        setLink(await change<AccessLink>('POST', `/accounts/${account.id}/access-link`, {})),
      done: people.resetDone,
    })
  return (
    <>
      <button type="button" className="link" onClick={make}>
        {words.makeLink}
      </button>
      <Dialog title={people.link} opened={link !== null} close={() => setLink(null)}>
        {link !== null && (
          <Secret secret={link.url} close={() => setLink(null)}>
            <p>{people.linkLead(exactTime(link.expires_at))}</p>
          </Secret>
        )}
      </Dialog>
    </>
  )
}
