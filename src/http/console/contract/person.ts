/** What a person sets for oneself: name and language, password, sessions, second factor, passkeys. */
import { z } from 'zod'
import { call, type AnswerOf } from './call.ts'
import { entranceCalls, webauthn } from './entrance.ts'
import { done, language, passwordIn, time } from '../../api/json-schemas.ts'

const openSession = z.object({
  id: z.string(),
  /** The one that asks. */
  current: z.boolean(),
  address: z.string(),
  /** The browser's own words. */
  agent: z.string(),
  /** An operator who has signed in as an account. */
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
/** Who changes how one signs in has to show the password again, unless there is none. */
const proof = { password: passwordIn.optional() }

export const personCalls = {
  change: call(['PATCH', '/me', 'person'], {
    body: z.strictObject({ name: z.string().max(200).optional(), language: language.optional() }),
    answer: entranceCalls.session.answer,
  }),
  /** Ends all other sessions. */
  changePassword: call(['POST', '/me/password', 'person'], {
    body: z.strictObject({ current: passwordIn.optional(), password: passwordIn }),
    answer: done,
  }),
  sessions: call(['GET', '/me/sessions', 'person'], { answer: z.object({ data: z.array(openSession) }) }),
  endSession: call(['DELETE', '/me/sessions/:id', 'person'], { answer: done }),
  endOtherSessions: call(['POST', '/me/sessions/end-others', 'person'], {
    answer: z.object({ ended: z.int() }),
  }),
  /** Counts from its confirmation on. `qr` is an SVG; `secret` is for typing. */
  beginTotp: call(['POST', '/me/totp', 'person'], {
    body: z.strictObject(proof),
    answer: z.object({ secret: z.string(), uri: z.string(), qr: z.string() }),
  }),
  confirmTotp: call(['POST', '/me/totp/confirm', 'person'], {
    body: z.strictObject({ code: z.string().max(20) }),
    answer: recoveryCodes,
  }),
  endTotp: call(['POST', '/me/totp/end', 'person'], { body: z.strictObject(proof), answer: done }),
  newRecoveryCodes: call(['POST', '/me/recovery-codes', 'person'], {
    body: z.strictObject(proof),
    answer: recoveryCodes,
  }),
  passkeys: call(['GET', '/me/passkeys', 'person'], { answer: z.object({ data: z.array(passkey) }) }),
  passkeyOptions: call(['POST', '/me/passkeys/options', 'person'], {
    body: z.strictObject(proof),
    answer: z.object({ ticket: z.string(), options: webauthn }),
  }),
  addPasskey: call(['POST', '/me/passkeys', 'person'], {
    body: z.strictObject({ ticket: z.string().max(200), response: webauthn, name: z.string().max(200) }),
    answer: passkey,
  }),
  endPasskey: call(['DELETE', '/me/passkeys/:id', 'person'], { answer: done }),
} as const

export type OpenSession = AnswerOf<typeof personCalls.sessions>['data'][number]
export type Passkey = z.infer<typeof passkey>
