import { readFileSync } from 'node:fs';

/** A text that is given in the configuration or in a file. */
export interface TextPlace {
  /** Name of the setting, for errors. */
  readonly name: string;
  readonly data: string;
  readonly file: string;
}

/** Whether it is given at all. */
export function isGiven({ data, file }: Omit<TextPlace, 'name'>): boolean {
  return data !== '' || file !== '';
}

/** Reads it now. Throws an error that names the setting. */
export function textOf({ name, data, file }: TextPlace): string {
  if (data !== '') return data;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(
      `${name}: ${file} cannot be read (${error instanceof Error ? error.message : String(error)})`,
      {
        cause: error,
      },
    );
  }
}

/** PEM text that may be written in base64, because variables dislike line breaks. */
export function pemOf(place: TextPlace): string {
  const text = textOf(place);
  if (text.includes('-----BEGIN')) return text;
  const decoded = Buffer.from(text, 'base64').toString('utf8');
  if (decoded.includes('-----BEGIN')) return decoded;
  throw new Error(`${place.name}: no PEM text`);
}
