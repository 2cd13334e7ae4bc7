/** Finds elements of the window by what a user perceives: roles, labels, texts. */
import './browser-globals.ts'
import { within } from '@testing-library/dom'

export { waitFor } from '@testing-library/dom'

/** The whole window. The library's own `screen` needs a document before it is loaded. */
export const screen = within(document.body)
