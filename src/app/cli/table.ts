/** One column: its heading and what stands in it. Numbers stand to the right. */
export interface Column<Row> {
  readonly heading: string;
  readonly value: (row: Row) => string | number;
}

const GAP = '  ';

/** Rows under headings, each column as wide as its widest cell. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const cells = rows.map((row) => columns.map(({ value }) => value(row)));
  const widths = columns.map(({ heading }, at) =>
    Math.max(heading.length, ...cells.map((row) => String(row[at]).length)),
  );
  const line = (parts: readonly (string | number)[]): string =>
    parts
      .map((part, at) =>
        typeof part === 'number' ? String(part).padStart(widths[at] ?? 0) : part.padEnd(widths[at] ?? 0),
      )
      .join(GAP)
      .trimEnd();
  const headings = columns.map(({ heading }, at) =>
    cells.length > 0 && cells.every((row) => typeof row[at] === 'number')
      ? heading.padStart(widths[at] ?? 0)
      : heading,
  );
  return `${[line(headings), ...cells.map(line)].join('\n')}\n`;
}

/** Bytes for people: 1.5 KiB. */
export function size(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit] ?? ''}`;
}

/** A body in one line of a table: control characters shown as dots, cut at `max` characters. */
export function oneLine(text: string, max = 80): string {
  // eslint-disable-next-line no-control-regex -- these are what is replaced
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '·');
  return line.length <= max ? line : `${line.slice(0, max - 1)}…`;
}
