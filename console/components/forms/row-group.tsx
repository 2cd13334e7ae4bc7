/** Rows of a form that are added and removed. */
import { ActionIcon, Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Icon } from '../layout/icon.tsx'

/** How a form changes its rows. */
export function rowChanges<Row>(rows: readonly Row[], set: (rows: Row[]) => void) {
  return {
    change: (at: number, patch: Partial<Row>): void =>
      set(rows.map((row, index) => (index === at ? { ...row, ...patch } : row))),
    remove: (at: number): void => set(rows.filter((_, index) => index !== at)),
  }
}

interface RowGroupProps {
  readonly legend: string
  readonly addLabel: string
  readonly add: () => void
  readonly canAdd?: boolean
  readonly children: ReactNode
}

export function RowGroup({ legend, addLabel, add, canAdd = true, children }: RowGroupProps) {
  return (
    <fieldset className="field-group">
      <legend>{legend}</legend>
      <div className="stack">
        {children}
        <Button
          variant="default"
          className="align-start"
          leftSection={<Icon name="plus" />}
          onClick={add}
          disabled={!canAdd}
        >
          {addLabel}
        </Button>
      </div>
    </fieldset>
  )
}

export function RemoveRowButton({ label, remove }: { readonly label: string; readonly remove: () => void }) {
  return (
    <ActionIcon aria-label={label} title={label} onClick={remove}>
      <Icon name="close" />
    </ActionIcon>
  )
}
