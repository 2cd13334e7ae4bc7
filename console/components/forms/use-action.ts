/** Something a person sets off: whether it still runs, and what was refused, for showing beside its field. */
import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { useLanguage, useWords } from '../../language.ts'

export interface Action<Given extends unknown[]> {
  /** Resolves true when it was done; what was refused is in `error`. A second call waits for nothing and does nothing. */
  readonly run: (...given: Given) => Promise<boolean>
  readonly isRunning: boolean
  readonly error: ApiError | null
  readonly forget: () => void
}

function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const told = { message: error instanceof Error ? error.message : '', code: 'server_error', param: null }
  return new ApiError(500, told, new Headers())
}

export function useAction<Given extends unknown[]>(
  carryOut: (...given: Given) => Promise<unknown>,
): Action<Given> {
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<ApiError | null>(null)
  const run = async (...given: Given): Promise<boolean> => {
    if (isRunning) return false
    setRunning(true)
    setError(null)
    try {
      await carryOut(...given)
      return true
    } catch (thrown) {
      setError(apiErrorOf(thrown))
      return false
    } finally {
      setRunning(false)
    }
  }
  return { run, isRunning, error, forget: () => setError(null) }
}

/** For a form's `onSubmit`. */
export function submitting(run: () => Promise<unknown>): (event: { preventDefault(): void }) => void {
  return (event) => {
    event.preventDefault()
    void run()
  }
}

/** What to say about a refusal: by its code in the reader's language; the server's own English words where they say more. */
export function useErrorText(): (error: ApiError) => string {
  const { errors } = useWords('door')
  const language = useLanguage()
  return (error) => {
    const known = errors[error.code] ?? errors['server_error'] ?? ''
    const isVague =
      ['invalid_request', 'conflict', 'password_refused'].includes(error.code) ||
      errors[error.code] === undefined
    return language === 'en' && isVague && error.message !== '' ? error.message : known
  }
}

/** For the `error` of the field that the server names as `param`. */
export function useFieldError(error: ApiError | null): (...params: string[]) => string | undefined {
  const textOf = useErrorText()
  return (...params) => {
    if (error?.param === null || error === null) return undefined
    const isIts = params.some((param) => error.param === param || error.param?.startsWith(`${param}.`))
    return isIts ? textOf(error) : undefined
  }
}
