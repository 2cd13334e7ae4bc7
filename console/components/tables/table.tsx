/** A table on a desk, a list of cards on a phone: the same cells, each with its head's words as a label. */
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ReactNode
  /** Figures stand at the right, digit under digit. */
  readonly figures?: boolean
  /** The cell that names the row: the card's title on a phone. */
  readonly names?: boolean
  /** Only where there is room for it; a card shows it anyway. */
  readonly wide?: boolean
}

export interface TableProps<Row> {
  /** Says what the table is to those who cannot see it. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly idOf: (row: Row) => string
  /** Where a row leads; its naming cell holds the link, the rest of the row follows it. */
  readonly hrefOf?: (row: Row) => string
  readonly footer?: ReactNode
}

function classOf<Row>({ figures, names, wide }: Column<Row>): string {
  return [figures && 'figures', names && 'names', wide && 'wide'].filter(Boolean).join(' ')
}

export function Table<Row>({ label, columns, rows, idOf, hrefOf, footer }: TableProps<Row>) {
  const navigate = useNavigate()
  const open = (row: Row, target: EventTarget): void => {
    const isOwn = target instanceof Element && target.closest('a, button, input, select, label') !== null
    if (hrefOf && !isOwn && window.getSelection()?.toString() === '') void navigate({ href: hrefOf(row) })
  }
  return (
    <div className="table-box">
      <table className={hrefOf ? 'table opens' : 'table'} aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" className={classOf(column)}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={idOf(row)} onClick={(event) => open(row, event.target)}>
              {columns.map((column) => (
                <td key={column.head} className={classOf(column)} data-label={column.head}>
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
