/**
 * The context of one console request: the session, the client address and the validated input. `endpoint` is the only
 * way to register a handler, so every handler runs after authorization and validation.
 */
import type { Context, Hono } from 'hono'
import type { z } from 'zod'
import type { Account } from '../../accounts/accounts.ts'
import { reportsOfAccount } from '../../db/db.ts'
import { apiError } from '../../errors.ts'
import { actorOf, type User } from '../../users/users.ts'
import { userBySessionToken, type Session, type SignedInUser } from '../../users/sessions.ts'
import { apiErrorFromZod } from '../api/thrown-errors.ts'
import { requireValidText } from '../api/text-input.ts'
import type { ApiKeyAuth } from '../api-key-auth.ts'
import type { AppContext } from '../app-context.ts'
import type { Email, EmailSender } from '../../lib/email.ts'
import type { EndpointContract, Access } from './contract/endpoint.ts'
import { readSessionToken } from './auth/session-cookie.ts'
import { checkSameSite } from './auth/csrf.ts'
import { rejectWhileImpersonating } from './auth/read-only-impersonation.ts'

export interface ConsoleDeps {
  readonly ctx: AppContext
  readonly apiKeyAuth: ApiKeyAuth
  /** null: e-mail is not configured. */
  readonly emailSender: EmailSender | null
  /** Receives errors that are our bugs; the caller gets no details of them. */
  readonly onInternalError: (error: unknown, requestId: string) => void
  /** Somebody could not sign in from this address. `method`: as in the audit record of a sign-in. */
  readonly onSignInFailed: (address: string, method: string) => void
}

/** Does not wait for the mail server: the response time must not reveal whether an address is known. */
export function sendEmail({ emailSender, onInternalError }: ConsoleDeps, email: Email): void {
  emailSender?.send(email).catch((error: unknown) => onInternalError(error, 'mail'))
}

/** What the listener passes to the application in addition to the request. */
export interface Bindings {
  /** The remote address of the connection. */
  readonly peer: string | undefined
}

export type HonoContext = Context<{ Bindings: Bindings }>
export type ConsoleApp = Hono<{ Bindings: Bindings }>

/** The account whose pages a user sees: their own, or the one that an operator impersonates. */
export function getActiveAccountId({ user, session }: SignedInUser): string | null {
  return user.role === 'operator' && session.impersonatedAccount !== null
    ? session.impersonatedAccount
    : user.accountId
}

/** The actor as the audit log names it, including the impersonated account. */
export function getAuditActor(signedIn: SignedInUser): string {
  const actor = actorOf(signedIn.user)
  return signedIn.session.impersonatedAccount === null
    ? actor
    : `${actor} as ${signedIn.session.impersonatedAccount}`
}

export class ConsoleContext<Contract extends EndpointContract = EndpointContract> {
  readonly deps: ConsoleDeps
  /** The services. Reports are those of the account whose pages these are. */
  readonly ctx: AppContext
  readonly c: HonoContext
  readonly body: z.output<Contract['body']>
  readonly query: z.output<Contract['query']>
  /** null: not signed in. */
  readonly signedIn: SignedInUser | null

  constructor(
    deps: ConsoleDeps,
    { c, signedIn }: { readonly c: HonoContext; readonly signedIn: SignedInUser | null },
    input: { readonly body: z.output<Contract['body']>; readonly query: z.output<Contract['query']> },
  ) {
    this.deps = deps
    const account = signedIn && getActiveAccountId(signedIn)
    this.ctx = account === null ? deps.ctx : { ...deps.ctx, db: reportsOfAccount(deps.ctx.db, account) }
    this.c = c
    this.signedIn = signedIn
    this.body = input.body
    this.query = input.query
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

  /** The path parameter `:name`. */
  param(name: string): string {
    return this.c.req.param(name) ?? ''
  }
}

/** Finds the session of a `Cookie` header. */
export async function sessionFromCookie(
  { ctx }: ConsoleDeps,
  cookies: string | undefined,
): Promise<SignedInUser | null> {
  const token = readSessionToken(ctx.config, cookies)
  return token === undefined || token === '' ? null : ((await userBySessionToken(ctx.db, token)) ?? null)
}

/** Throws 401 if nobody is signed in, and 403 if the user has no access. */
export function checkAccess(access: Access, signedIn: SignedInUser | null): void {
  if (access === 'anyone') return
  if (signedIn === null) throw apiError('session_required')
  if (access === 'operator' && signedIn.user.role !== 'operator') throw apiError('operators_only')
  if (access === 'customer' && getActiveAccountId(signedIn) === null) throw apiError('no_account')
}

async function validate<Schema extends z.ZodType>(schema: Schema, value: unknown): Promise<z.output<Schema>> {
  const result = await schema.safeParseAsync(value)
  if (!result.success) throw apiErrorFromZod(result.error)
  requireValidText(result.data)
  return result.data
}

async function readJsonBody(c: HonoContext): Promise<unknown> {
  const text = await c.req.text()
  if (text === '') return {}
  const type = c.req.header('content-type') ?? ''
  if (!/^application\/json\b/i.test(type)) throw apiError('unsupported_media_type')
  try {
    return JSON.parse(text)
  } catch {
    throw apiError('invalid_json')
  }
}

/** Checks the origin, the session and the access. */
async function authorize(deps: ConsoleDeps, access: Access, c: HonoContext): Promise<SignedInUser | null> {
  const { method } = c.req
  checkSameSite(deps.ctx.config, { method, header: (name) => c.req.header(name) })
  const signedIn = await sessionFromCookie(deps, c.req.header('cookie'))
  checkAccess(access, signedIn)
  return signedIn
}

/** An endpoint of the contract with its handler. */
export interface Endpoint {
  readonly contract: EndpointContract
  readonly handler: (context: ConsoleContext) => Promise<unknown>
}

export function endpoint<Contract extends EndpointContract>(
  contract: Contract,
  handler: (context: ConsoleContext<Contract>) => Promise<z.input<Contract['response']>>,
): Endpoint {
  // The handler's input type is that of the contract's schemas; `registerEndpoint` validates with the same schemas.
  return { contract, handler }
}

/** Authorizes a request, and returns a function that validates a query and creates the context for it. */
export async function openContext(
  deps: ConsoleDeps,
  c: HonoContext,
  contract: EndpointContract,
): Promise<(query: object) => Promise<ConsoleContext>> {
  const signedIn = await authorize(deps, contract.access, c)
  rejectWhileImpersonating(signedIn?.session, contract)
  const body = contract.method === 'GET' ? {} : await validate(contract.body, await readJsonBody(c))
  return async (query) =>
    new ConsoleContext(deps, { c, signedIn }, { body, query: await validate(contract.query, query) })
}

export function registerEndpoint(app: ConsoleApp, deps: ConsoleDeps, { contract, handler }: Endpoint): void {
  app.on(contract.method, contract.path, async (c) => {
    const createContext = await openContext(deps, c, contract)
    return c.json((await handler(await createContext(c.req.query()))) as object)
  })
}
