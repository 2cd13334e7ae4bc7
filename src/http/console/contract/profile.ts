/** Contract of a user's own settings: name and language, password, sessions, second factor, passkeys. */
import { z } from 'zod'
import { defineEndpoint, type ResponseOf } from './endpoint.ts'
import { authContract, webauthn } from './auth.ts'
import { done, language, passwordInput, time } from '../../api/json-schemas.ts'

const session = z.object({
  id: z.string(),
  /** The session of this request. */
  current: z.boolean(),
  address: z.string(),
  /** The browser's `User-Agent` header. */
  agent: z.string(),
  /** The operator impersonates an account. */
  acting: z.boolean(),
  created_at: time,
  seen_at: time,
  expires_at: time,
})
const passkey = z.object({
  id: z.string(),
  name: z.string(),
  created_at: time,
  last_used_at: time.nullable(),
})
const recoveryCodes = z.object({
  /** Shown once. */
  recovery_codes: z.array(z.string()),
})
/** Changing how to sign in requires the password, unless the user has none. */
const passwordConfirmation = { password: passwordInput.optional() }

export const profileContract = {
  update: defineEndpoint(['PATCH', '/me', 'person'], {
    body: z.strictObject({ name: z.string().max(200).optional(), language: language.optional() }),
    response: authContract.session.response,
  }),
  /** Ends all other sessions. */
  changePassword: defineEndpoint(['POST', '/me/password', 'person'], {
    body: z.strictObject({ current: passwordInput.optional(), password: passwordInput }),
    response: done,
  }),
  /** Until `expires_at`, this session may do what is rejected with `password_required`. By password or passkey. */
  confirm: defineEndpoint(['POST', '/me/confirm', 'person'], {
    body: z.union([
      z.strictObject({ password: passwordInput }),
      z.strictObject({ ticket: z.string().max(200), response: webauthn }),
    ]),
    response: z.object({ expires_at: time }),
  }),
  listSessions: defineEndpoint(['GET', '/me/sessions', 'person'], {
    response: z.object({ data: z.array(session) }),
  }),
  endSession: defineEndpoint(['DELETE', '/me/sessions/:id', 'person'], { response: done }),
  endOtherSessions: defineEndpoint(['POST', '/me/sessions/end-others', 'person'], {
    response: z.object({ ended: z.int() }),
  }),
  /** Takes effect when confirmed. `qr` is an SVG; `secret` is for manual entry. */
  beginTotp: defineEndpoint(['POST', '/me/totp', 'person'], {
    body: z.strictObject(passwordConfirmation),
    response: z.object({ secret: z.string(), uri: z.string(), qr: z.string() }),
  }),
  confirmTotp: defineEndpoint(['POST', '/me/totp/confirm', 'person'], {
    body: z.strictObject({ code: z.string().max(20) }),
    response: recoveryCodes,
  }),
  endTotp: defineEndpoint(['POST', '/me/totp/end', 'person'], {
    body: z.strictObject(passwordConfirmation),
    response: done,
  }),
  renewRecoveryCodes: defineEndpoint(['POST', '/me/recovery-codes', 'person'], {
    body: z.strictObject(passwordConfirmation),
    response: recoveryCodes,
  }),
  listPasskeys: defineEndpoint(['GET', '/me/passkeys', 'person'], {
    response: z.object({ data: z.array(passkey) }),
  }),
  passkeyOptions: defineEndpoint(['POST', '/me/passkeys/options', 'person'], {
    body: z.strictObject(passwordConfirmation),
    response: z.object({ ticket: z.string(), options: webauthn }),
  }),
  createPasskey: defineEndpoint(['POST', '/me/passkeys', 'person'], {
    body: z.strictObject({ ticket: z.string().max(200), response: webauthn, name: z.string().max(200) }),
    response: passkey,
  }),
  deletePasskey: defineEndpoint(['DELETE', '/me/passkeys/:id', 'person'], { response: done }),
} as const

export type OpenSession = ResponseOf<typeof profileContract.listSessions>['data'][number]
export type Passkey = z.infer<typeof passkey>
