/**
 * The cursor of the roll-ups of request rows, which usage/rollups/ advances: rows up to it are counted, later ones are not,
 * so only rows up to it may be deleted.
 */

const cursorName = 'usage_hourly'

export const rollUpCursorSql = `select coalesce(max(position), 0) as position from cursors where name = '${cursorName}'`

export const advanceRollUpCursorSql = `insert into cursors (name, position) values ('${cursorName}', ?)
on conflict (name) do update set position = excluded.position`
