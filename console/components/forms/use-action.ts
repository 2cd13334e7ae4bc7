/** The state of an action that a user triggers: whether it is running, and its error. */
import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { useLanguage, useMessages } from '../../locales/messages.ts'

export interface Action<Args extends unknown[]> {
  /** Resolves true on success; otherwise `error` is set. A call while one is running does nothing. */
  readonly run: (...given: Args) => Promise<boolean>
  readonly isRunning: boolean
  readonly error: ApiError | null
  readonly reset: () => void
}

export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const body = { message: error instanceof Error ? error.message : '', code: 'server_error', param: null }
  return new ApiError(500, body, new Headers())
}

export function useAction<Args extends unknown[]>(
  perform: (...given: Args) => Promise<unknown>,
): Action<Args> {
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<ApiError | null>(null)
  const run = async (...given: Args): Promise<boolean> => {
    if (isRunning) return false
    setRunning(true)
    setError(null)
    try {
      await perform(...given)
      return true
    } catch (thrown) {
      setError(toApiError(thrown))
      return false
    } finally {
      setRunning(false)
    }
  }
  return { run, isRunning, error, reset: () => setError(null) }
}

/** The messages of these errors say more than their codes. */
const specificCodes = ['invalid_request', 'conflict', 'not_found', 'password_refused']

/** For a form's `onSubmit`. */
export function submitHandler(run: () => Promise<unknown>): (event: { preventDefault(): void }) => void {
  return (event) => {
    event.preventDefault()
    void run()
  }
}

/**
 * The text of an API error: by code in the user's language, or the server's message if that is more specific. A message
 * that the console cannot translate is shown in English after the text of its code.
 */
export function useErrorText(): (error: ApiError) => string {
  const { errors, translateError } = useMessages('auth')
  const language = useLanguage()
  return (error) => {
    const { code, message } = error
    const ofCode = errors[code] ?? errors['server_error'] ?? ''
    if (language === 'en') {
      const isSpecific = specificCodes.includes(code) || errors[code] === undefined
      return isSpecific && message !== '' ? message : ofCode
    }
    const translated = translateError(message)
    if (translated !== '') return translated
    return code === 'invalid_request' || code === 'conflict' ? `${ofCode} ${message}` : ofCode
  }
}

/** The `error` of a field whose name is the error's `param`. */
export function useFieldError(error: ApiError | null): (...params: string[]) => string | undefined {
  const errorText = useErrorText()
  return (...params) => {
    if (error?.param === null || error === null) return undefined
    const matches = params.some((param) => error.param === param || error.param?.startsWith(`${param}.`))
    return matches ? errorText(error) : undefined
  }
}
