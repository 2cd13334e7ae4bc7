/** Passkey sign-in and registration. The WebAuthn library is loaded on first use. */
import { call } from './client.ts'
import type { Session } from './contract.ts'

interface PasskeyChallenge {
  readonly ticket: string
  readonly options: never
}

/** Throws the browser's DOMException if the user cancels. */
async function authenticate(): Promise<{ readonly ticket: string; readonly response: object }> {
  const { startAuthentication } = await import('@simplewebauthn/browser')
  const { ticket, options } = await call<PasskeyChallenge>('POST', '/console/sign-in/passkey/options', {})
  return { ticket, response: await startAuthentication({ optionsJSON: options }) }
}

export async function signInWithPasskey(): Promise<Session> {
  const proof = await authenticate()
  return (await call<{ session: Session }>('POST', '/console/sign-in/passkey', proof)).session
}

/** Proves again who the user is. */
export async function confirmWithPasskey(): Promise<void> {
  await call('POST', '/console/me/confirm', await authenticate())
}

export async function addPasskey(name: string, password: string): Promise<void> {
  const { startRegistration } = await import('@simplewebauthn/browser')
  const proof = password === '' ? {} : { password }
  const { ticket, options } = await call<PasskeyChallenge>('POST', '/console/me/passkeys/options', proof)
  const response = await startRegistration({ optionsJSON: options })
  await call('POST', '/console/me/passkeys', { ticket, response, name })
}

/** A passkey belongs to a domain: on an IP address browsers create none (WebAuthn, section 5.1.3, step 8). */
export function supportsPasskeys(): boolean {
  const isIpAddress = /^[\d.]+$|^\[/.test(window.location.hostname)
  return typeof window.PublicKeyCredential === 'function' && window.isSecureContext && !isIpAddress
}
