/** A table on wide screens, a list of cards on phones, with the column headers as labels. */
import { useNavigate } from '@tanstack/react-router'
import type { MouseEvent, ReactNode } from 'react'
import { DefinedName, type DefinitionName } from '../layout/definition.tsx'

export interface Column<Row> {
  readonly header: string
  /** What the column's number means. */
  readonly definition?: DefinitionName
  /** Rendered as a component of its own for each row, so it may use hooks. */
  readonly cell: (row: Row) => ReactNode
  /** Right-aligned with tabular digits. */
  readonly numeric?: boolean
  /** The cell that identifies the row: the card's title on a phone. */
  readonly primary?: boolean
  /** Hidden on medium screens; cards show it. */
  readonly wideOnly?: boolean
  /** The header is only read out, since every cell says the same. */
  readonly hasHiddenHeader?: boolean
  /** Holds a `RowMenu`: in the corner of a phone's card; its header is only read out. */
  readonly isMenu?: boolean
}

export interface TableProps<Row> {
  /** The accessible name of the table. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowId: (row: Row) => string
  /** Makes the whole row clickable; its primary cell holds the actual link. */
  readonly rowHref?: (row: Row) => string
  /** Makes the whole row clickable and its primary cell a button, mostly to open the row's form. */
  readonly onRowClick?: (row: Row) => void
  readonly footer?: ReactNode
}

function cellClass<Row>({ numeric, primary, wideOnly, isMenu }: Column<Row>): string {
  return [numeric && 'numeric', primary && 'primary', wideOnly && 'wide-only', isMenu && 'menu-cell']
    .filter(Boolean)
    .join(' ')
}

/** Clicks on a control of the row, in a menu or dialog that it opened, or at the end of a selection are not for the row. */
function isRowClick({ target, currentTarget }: MouseEvent): boolean {
  return (
    target instanceof Element &&
    currentTarget.contains(target) &&
    target.closest('a, button, input, select, label') === null &&
    window.getSelection()?.toString() === ''
  )
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

function ColumnHeader<Row>({ header, definition, isMenu, hasHiddenHeader }: Column<Row>) {
  if (isMenu || hasHiddenHeader) return <span className="visually-hidden">{header}</span>
  return definition === undefined ? header : <DefinedName name={header} definition={definition} />
}

/** Called in `Table`, a cell's hooks would be the table's own, whose number changes with the number of rows. */
function Cell<Row>({ column, row }: { readonly column: Column<Row>; readonly row: Row }) {
  return column.cell(row)
}

export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, rowId, rowHref, onRowClick, footer } = props
  const navigate = useNavigate()
  const open = onRowClick ?? (rowHref && ((row: Row) => void navigate({ href: rowHref(row) })))
  return (
    <div className="table-container" ref={makeScrollable}>
      <table className={open ? 'table clickable' : 'table'} aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.header} scope="col" className={cellClass(column)}>
                <ColumnHeader {...column} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowId(row)} onClick={(event) => isRowClick(event) && open?.(row)}>
              {columns.map((column) => (
                <td
                  key={column.header}
                  className={cellClass(column)}
                  data-label={column.hasHiddenHeader ? '' : column.header}
                >
                  {column.primary && onRowClick ? (
                    <button type="button" className="link" onClick={() => onRowClick(row)}>
                      <Cell column={column} row={row} />
                    </button>
                  ) : (
                    <Cell column={column} row={row} />
                  )}
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
