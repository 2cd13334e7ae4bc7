/** A text of the locales in which `names of the API` are set as code. */
import { Fragment } from 'react'

export function WithInlineCode({ text }: { readonly text: string }) {
  return text
    .split('`')
    .map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : <Fragment key={at}>{part}</Fragment>))
}
