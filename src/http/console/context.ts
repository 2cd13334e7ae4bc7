/**
 * The context of one console request: the session, the client address and the account. Endpoints are declared for an
 * audience with their handlers; the console's pages import the types of the declarations only, and nothing at run time.
 */
import type { Context, Hono } from 'hono'
import { z } from 'zod'
import type { Account } from '../../accounts/accounts.ts'
import { brandedSender } from '../../branding/branded-email.ts'
import { reportsOfAccount } from '../../db/db.ts'
import { apiError } from '../../errors.ts'
import type { User } from '../../users/users.ts'
import type { Session, SignedInUser } from '../../users/sessions.ts'
import { endpointsFor } from '../api/define-endpoints.ts'
import type { Audience } from '../api/endpoint.ts'
import { pageFields, type Language } from '../api/json-schemas.ts'
import type { ApiKeyAuth } from '../api-key-auth.ts'
import type { BodyBudget } from '../body.ts'
import type { AppContext } from '../app-context.ts'
import type { Email, EmailSender } from '../../lib/email.ts'
import { getActiveAccountId, getAuditActor } from './auth/authorize.ts'

export interface ConsoleDeps {
  readonly ctx: AppContext
  readonly apiKeyAuth: ApiKeyAuth
  /** The memory for request bodies. */
  readonly bodies: BodyBudget
  /** null: e-mail is not configured. */
  readonly emailSender: EmailSender | null
  /** Receives errors that are our bugs; the caller gets no details of them. */
  readonly onInternalError: (error: unknown, requestId: string) => void
  /** Somebody could not sign in from this address. `method`: as in the audit record of a sign-in. */
  readonly onSignInFailed: (address: string, method: string) => void
}

/** Does not wait for the mail server: the response time must not reveal whether an address is known. */
export function sendEmail(
  { emailSender, onInternalError, ctx }: ConsoleDeps,
  email: Email,
  language: Language,
): void {
  if (emailSender === null) return
  const sender = brandedSender(emailSender, ctx.branding.current, language)
  sender.send(email).catch((error: unknown) => onInternalError(error, 'mail'))
}

/** What the listener passes to the application in addition to the request. */
interface Bindings {
  /** The remote address of the connection. */
  readonly peer: string | undefined
}

export type HonoContext = Context<{ Bindings: Bindings }>
export type ConsoleApp = Hono<{ Bindings: Bindings }>

export class ConsoleContext {
  readonly deps: ConsoleDeps
  /** The services. Reports are those of the account whose pages these are. */
  readonly ctx: AppContext
  readonly c: HonoContext
  /** null: not signed in. */
  readonly signedIn: SignedInUser | null

  constructor(deps: ConsoleDeps, c: HonoContext, signedIn: SignedInUser | null) {
    this.deps = deps
    const account = signedIn && getActiveAccountId(signedIn)
    this.ctx = account === null ? deps.ctx : { ...deps.ctx, db: reportsOfAccount(deps.ctx.db, account) }
    this.c = c
    this.signedIn = signedIn
  }

  /** Throws 401 if nobody is signed in. */
  get authenticated(): SignedInUser {
    if (this.signedIn === null) throw apiError('session_required')
    return this.signedIn
  }

  get user(): User {
    return this.authenticated.user
  }

  get session(): Session {
    return this.authenticated.session
  }

  /** The actor as the audit log names it. */
  get by(): string {
    return getAuditActor(this.authenticated)
  }

  /** The account whose pages these are. Throws 403 for an operator who impersonates none. */
  get accountId(): string {
    const id = getActiveAccountId(this.authenticated)
    if (id === null) throw apiError('no_account')
    return id
  }

  /** From the account directory of this worker. */
  get account(): Account {
    const account = this.ctx.directory.account(this.accountId)
    if (account === undefined) throw apiError('no_account')
    return account
  }

  /** The client address, behind trusted proxies. */
  get address(): string {
    const { peer } = this.c.env
    return this.deps.apiKeyAuth.clientAddress(peer, this.c.req.header('x-forwarded-for'))
  }
}

/** The context of a handler whose body has this schema. */
export type ContextWithBody<Body extends z.ZodType> = ConsoleContext & { readonly body: z.output<Body> }

const forAudience = (audience: Audience) =>
  endpointsFor<ConsoleContext>(audience, pageFields, { query: {}, body: z.strictObject({}) })

export const anyone = forAudience('anyone')
export const person = forAudience('person')
export const customer = forAudience('customer')
export const operator = forAudience('operator')
