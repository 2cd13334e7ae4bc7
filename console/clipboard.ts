/** Copies texts, also where the browser offers no Clipboard API: on plain HTTP except localhost. */

/** Deprecated, but the only way to copy without a secure context. */
const legacyDocument: { readonly execCommand: (command: 'copy') => boolean } = document

/** Copies by a selection, which works in any context during a click. */
function copyBySelection(text: string): boolean {
  const focused = document.activeElement
  const field = document.createElement('textarea')
  field.value = text
  field.readOnly = true
  field.className = 'visually-hidden'
  // Inside an open dialog, which keeps the focus.
  const parent = focused?.closest('[role="dialog"]') ?? document.body
  parent.append(field)
  field.select()
  const isCopied = legacyDocument.execCommand('copy')
  field.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return isCopied
}

/** Returns whether the text was copied. */
export async function copyText(text: string): Promise<boolean> {
  if (!window.isSecureContext) return copyBySelection(text)
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => copyBySelection(text),
  )
}
