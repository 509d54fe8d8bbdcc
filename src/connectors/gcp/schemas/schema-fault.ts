/** What is wrong with a schema definition, or with data that a schema describes. */
export class SchemaFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SchemaFault';
  }
}

/** The message of whatever a parser threw: a stack that ran over is said to be too deep. */
export function faultOf(caught: unknown): string {
  if (caught instanceof RangeError) return 'it is nested too deeply';
  return caught instanceof Error ? caught.message : String(caught);
}
