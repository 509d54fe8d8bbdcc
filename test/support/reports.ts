import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** What is right, where it was reported that it was not, and the tests that fail when it is not: their files and titles. */
export type Report = readonly [
  behaviour: string,
  reports: string,
  ...proofs: readonly (readonly [file: string, title: string])[],
];

/** As `it('…'`, as the title of a table's cases, or as one of them; nothing that is skipped. */
const BEFORE_TITLE = ["it('", 'it("', "])('", "    '"];

/** A test for each report: that the tests it names are there. */
export function eachReportIsTested(reports: readonly Report[]): void {
  describe('what was reported of other servers would be seen here', () => {
    it.each(reports.map(([behaviour, where, ...proofs]) => ({ behaviour, where, proofs })))(
      '$behaviour ($where)',
      ({ proofs }) => {
        expect(proofs.length).toBeGreaterThan(0);
        for (const [file, title] of proofs) {
          const source = readFileSync(join(process.cwd(), file), 'utf8');
          const stands = BEFORE_TITLE.some((start) => source.includes(start + title));
          expect([file, title, stands]).toEqual([file, title, true]);
        }
      },
    );
  });
}
