/** Signing in with a passkey: the browser's part is fetched only when somebody wants it. */
import { call } from './client.ts'
import type { Session } from '../contract.ts'

interface Offer {
  readonly ticket: string
  readonly options: never
}

/** Throws what the browser throws when the person turns it down. */
export async function signInWithPasskey(): Promise<Session> {
  const { startAuthentication } = await import('@simplewebauthn/browser')
  const { ticket, options } = await call<Offer>('POST', '/console/sign-in/passkey/options', {})
  const response = await startAuthentication({ optionsJSON: options })
  const answer = await call<{ session: Session }>('POST', '/console/sign-in/passkey', { ticket, response })
  return answer.session
}

export async function addPasskey(name: string, password: string): Promise<void> {
  const { startRegistration } = await import('@simplewebauthn/browser')
  const proof = password === '' ? {} : { password }
  const { ticket, options } = await call<Offer>('POST', '/console/me/passkeys/options', proof)
  const response = await startRegistration({ optionsJSON: options })
  await call('POST', '/console/me/passkeys', { ticket, response, name })
}

export function canUsePasskeys(): boolean {
  return typeof window.PublicKeyCredential === 'function' && window.isSecureContext
}
