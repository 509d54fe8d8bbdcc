interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
  /** Behind the family's name, as histograms have it. */
  readonly suffix?: string;
}

interface Family {
  /** With its prefix. */
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly Sample[];
}

/** Adds a gauge that is read when somebody asks; its name gets the product's prefix. */
export type DefineGauge = (name: string, help: string, read: () => readonly Sample[]) => void;

/** Figures in the text format of Prometheus, version 0.0.4. They are read when they are written, and nothing is kept in between. */
export class Exposition {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8';
  readonly #gauges: (() => Family)[] = [];

  readonly gauge: DefineGauge = (name, help, read) => {
    this.#gauges.push(() => ({ name: `polymq_${name}`, help, type: 'gauge', samples: read() }));
  };

  /** All gauges, and families that are known only now. */
  text(more: readonly Family[] = []): string {
    return [...this.#gauges.map((read) => read()), ...more].map(familyText).join('');
  }
}

function familyText({ name, help, type, samples }: Family): string {
  let text = `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`;
  for (const { suffix = '', labels = {}, value } of samples)
    text += `${name}${suffix}${labelsText(labels)} ${valueText(value)}\n`;
  return text;
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(
    ([label, at]) => `${label}="${escaped(at).replaceAll('"', '\\"')}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function valueText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (Math.abs(value) === Infinity) return value > 0 ? '+Inf' : '-Inf';
  return String(value);
}
