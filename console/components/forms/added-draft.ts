/** The text of the fields for what is added to every request to an upstream. */
import type { Upstream } from '../../api/contract.ts'

/** The values of headers are never shown again: an empty field keeps them. */
export function addedDraftFrom(upstream: Pick<Upstream, 'body'> | null) {
  const hasBody = upstream !== null && Object.keys(upstream.body).length > 0
  return {
    headers: '',
    removes_headers: '',
    body: hasBody ? JSON.stringify(upstream.body, null, 2) : '',
  }
}

export type AddedDraft = ReturnType<typeof addedDraftFrom>

/** `Name: value`, one a line. */
function headersFrom(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(':')
      return [name.trim(), value.join(':').trim()]
    }),
  )
}

/** Text that is not JSON is sent unchanged, so that the API rejects it. */
function jsonFrom(text: string): unknown {
  if (text.trim() === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export function addedFromDraft({ headers, removes_headers: removes, body }: AddedDraft) {
  return {
    ...(removes === '' ? {} : { headers: null }),
    ...(headers.trim() === '' ? {} : { headers: headersFrom(headers) }),
    body: jsonFrom(body),
  }
}
