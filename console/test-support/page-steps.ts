/** Steps on an opened page (open-console.ts). Each finds exactly one element and waits for it. */
import assert from 'node:assert/strict'
import { waitFor } from './screen.ts'

/** The row with this text, of the table with this name. */
export function findRow(text: string, table: string): Promise<HTMLElement> {
  return waitFor(() => {
    const all = [...document.querySelectorAll<HTMLElement>(`table[aria-label="${table}"] tr`)]
    const rows = all.filter((row) => row.textContent.includes(text))
    const [row] = rows
    assert.ok(row !== undefined && rows.length === 1, `${rows.length} rows with ${text}`)
    return row
  })
}
