/** A table on wide screens, a list of cards on phones, with the column headers as labels. */
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'

export interface Column<Row> {
  readonly header: string
  readonly cell: (row: Row) => ReactNode
  /** Right-aligned with tabular digits. */
  readonly numeric?: boolean
  /** The cell that identifies the row: the card's title on a phone. */
  readonly primary?: boolean
  /** Hidden on medium screens; cards show it. */
  readonly wideOnly?: boolean
}

export interface TableProps<Row> {
  /** The accessible name of the table. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowId: (row: Row) => string
  /** Makes the whole row clickable; its primary cell holds the actual link. */
  readonly rowHref?: (row: Row) => string
  readonly footer?: ReactNode
}

function cellClass<Row>({ numeric, primary, wideOnly }: Column<Row>): string {
  return [numeric && 'numeric', primary && 'primary', wideOnly && 'wide-only'].filter(Boolean).join(' ')
}

/** A table that is wider than its container can be scrolled by keyboard, too. */
function makeScrollable(container: HTMLElement | null): (() => void) | undefined {
  if (container === null) return undefined
  const observer = new ResizeObserver(() => {
    if (container.scrollWidth > container.clientWidth) container.tabIndex = 0
    else container.removeAttribute('tabindex')
  })
  observer.observe(container)
  for (const table of container.children) observer.observe(table)
  return () => observer.disconnect()
}

export function Table<Row>({ label, columns, rows, rowId, rowHref, footer }: TableProps<Row>) {
  const navigate = useNavigate()
  const open = (row: Row, target: EventTarget): void => {
    const isInteractive =
      target instanceof Element && target.closest('a, button, input, select, label') !== null
    if (rowHref && !isInteractive && window.getSelection()?.toString() === '')
      void navigate({ href: rowHref(row) })
  }
  return (
    <div className="table-container" ref={makeScrollable}>
      <table className={rowHref ? 'table clickable' : 'table'} aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.header} scope="col" className={cellClass(column)}>
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowId(row)} onClick={(event) => open(row, event.target)}>
              {columns.map((column) => (
                <td key={column.header} className={cellClass(column)} data-label={column.header}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        {footer !== undefined && <tfoot>{footer}</tfoot>}
      </table>
    </div>
  )
}
