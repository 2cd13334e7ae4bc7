/** A form of the console that changes an existing object, for tests. */
import type { Page } from 'playwright-core'
import type { TestServer } from '../server/test-server.ts'
import { findDialog } from './console-steps.ts'

export type Resource = Readonly<Record<string, unknown>>

export interface EditForm {
  /** The page whose URL opens the form. */
  readonly page: string
  /** Opens the form if the URL of the page does not. */
  readonly open?: (page: Page) => Promise<void>
  readonly isOfCustomer?: boolean
  /** The label of its submit button; null: each field is saved when it changes. */
  readonly submit?: string | null
  /** The object in the admin API: its path, or one of a list. */
  readonly path: string
  readonly isObject?: (resource: Resource) => boolean
  /** The fields that the object cannot have a value in. */
  readonly empty?: readonly string[]
  /** Changes one field by its name. */
  readonly change: (page: Page) => Promise<void>
  /** What that changes in the object. */
  readonly changed: Resource
}

export interface FormContext {
  readonly server: TestServer
  /** The account of the customer who is signed in. */
  readonly customerId: string
}

/** Replaces the text of a field of the dialog. */
export function fill(name: string, value: string): EditForm['change'] {
  return async (page) => {
    await page.evaluate(`for (const each of document.querySelectorAll('details')) each.open = true`)
    await findDialog(page).locator(`[name="${name}"]`).fill(value)
  }
}

export async function createId({ server }: FormContext, path: string, body: object): Promise<string> {
  return (await server.admin<{ id: string }>('POST', path, body)).id
}
