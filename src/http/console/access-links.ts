/** Links by which people come in that an operator, or the first start, hands over. Each opens once. */
import { accountById } from '../../accounts/accounts.ts'
import { cleanEmail } from '../../accounts/fields.ts'
import { auditRow } from '../../db/audit.ts'
import type { Db } from '../../db/db.ts'
import { refuse } from '../../errors.ts'
import { createPerson, noSuchPerson, peopleOfAccount, personById, type Person } from '../../people/people.ts'
import { makeTicket, type NewTicket } from '../../people/tickets.ts'

/** A link to a new password for a person, to be handed over. */
export async function accessLinkFor(
  db: Db,
  person: Person,
  { forgetSecondFactor, by }: { readonly forgetSecondFactor: boolean; readonly by: string },
): Promise<NewTicket> {
  const detail = { forgetSecondFactor }
  const also = [auditRow(by, 'person.access_link', person.id, detail)]
  return makeTicket(db, { kind: 'access', personId: person.id, detail, also, alone: true })
}

/** The same for an account that was opened without a person: it gets one with its address. */
export async function accessLinkForAccount(db: Db, accountId: string, by: string): Promise<NewTicket> {
  const account = await accountById(db, accountId)
  if (account === undefined) throw refuse('not_found', { message: 'There is no such account.' })
  const [known] = await peopleOfAccount(db, accountId)
  const { email, name } = account
  const { normalised } = cleanEmail(email)
  const input = { email, normalised, name, role: 'customer' as const, accountId, passwordHash: null }
  const person = known ?? (await createPerson(db, { ...input, language: 'en', isVerified: false }, by))
  return accessLinkFor(db, person, { forgetSecondFactor: false, by })
}

/** A link by which one more operator comes in; `by` nobody: the first. Those made before are void. */
export async function operatorLink(db: Db, by: string | null): Promise<NewTicket> {
  const also = by === null ? [] : [auditRow(by, 'operator.link', 'operators')]
  return makeTicket(db, { kind: 'set-up', also, alone: true })
}

/** Throws 404 for an unknown person. */
export async function knownPerson(db: Db, id: string): Promise<Person> {
  const person = await personById(db, id)
  if (person === undefined) throw noSuchPerson()
  return person
}
