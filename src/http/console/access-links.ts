/** Links by which people come in that an operator, or the first start, hands over. Each opens once. */
import { accountById } from '../../accounts/accounts.ts'
import { cleanEmail } from '../../accounts/fields.ts'
import { auditRow } from '../../db/audit.ts'
import type { Db } from '../../db/db.ts'
import { refuse } from '../../errors.ts'
import {
  createPerson,
  hasOperator,
  noSuchPerson,
  peopleOfAccount,
  personById,
  type Person,
} from '../../users/users.ts'
import { makeTicket, ticketBy, type NewTicket } from '../../people/tickets.ts'

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

/**
 * A link by which one more operator comes in, after which those made before are void; `by` nobody: the first. Each start
 * prints one of those, and leaves what other nodes and earlier starts have printed: the one somebody opens may be theirs.
 */
export async function operatorLink(db: Db, by: string | null): Promise<NewTicket> {
  if (by === null) return makeTicket(db, { kind: 'set-up', detail: forFirst })
  const also = [auditRow(by, 'operator.link', 'operators')]
  return makeTicket(db, { kind: 'set-up', also, alone: true })
}

const forFirst = { isForFirst: true }

/** Throws 404 for a link that is not good, as one of a start is not where there is an operator. */
export async function checkOperatorLink(db: Db, token: string): Promise<void> {
  const { detail } = await ticketBy(db, token, 'set-up')
  // A start may have looked for an operator a moment before there was one.
  if (detail['isForFirst'] === true && (await hasOperator(db))) throw refuse('link_invalid')
}

/** Throws 404 for an unknown person. */
export async function knownPerson(db: Db, id: string): Promise<Person> {
  const person = await personById(db, id)
  if (person === undefined) throw noSuchPerson()
  return person
}
