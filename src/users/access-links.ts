/** One-time links to the console that an operator passes on, or that the relay prints when it starts. */
import { auditStatement } from '../db/audit.ts'
import type { Db } from '../db/db.ts'
import { apiError, notFound } from '../errors.ts'
import { hasOperator, userById, type User } from './users.ts'
import { issueOneTimeToken, findOneTimeToken, type IssuedToken } from './one-time-tokens.ts'

/** Creates a link for a user to set a new password. */
export async function createAccessLink(
  db: Db,
  user: User,
  { forgetSecondFactor, by }: { readonly forgetSecondFactor: boolean; readonly by: string },
): Promise<IssuedToken> {
  const detail = { forgetSecondFactor }
  const extraStatements = [auditStatement(by, 'person.access_link', user.id, detail)]
  return issueOneTimeToken(db, {
    kind: 'access',
    userId: user.id,
    detail,
    extraStatements,
    replacesOthers: true,
  })
}

/**
 * Creates a link to set up an operator. If an operator creates it, earlier links become void. With `by` null it is for
 * the first operator: each start creates one and keeps those of other nodes and earlier starts, any of which may be used.
 */
export async function createOperatorLink(db: Db, by: string | null): Promise<IssuedToken> {
  if (by === null) return issueOneTimeToken(db, { kind: 'set-up', detail: firstOperatorDetail })
  const extraStatements = [auditStatement(by, 'operator.link', 'operators')]
  return issueOneTimeToken(db, { kind: 'set-up', extraStatements, replacesOthers: true })
}

const firstOperatorDetail = { isForFirst: true }

/** Throws 404 for an invalid link. A link that a start created is invalid once there is an operator. */
export async function checkOperatorLink(db: Db, token: string): Promise<void> {
  const { detail } = await findOneTimeToken(db, token, 'set-up')
  // A start may have created its link just before the first operator was created.
  if (detail['isForFirst'] === true && (await hasOperator(db))) throw apiError('link_invalid')
}

/** Finds a user. Throws 404 if there is none. */
export async function requireUser(db: Db, id: string): Promise<User> {
  const user = await userById(db, id)
  if (user === undefined) throw notFound('User')
  return user
}
