import { invalidArgument } from '../errors.js';
import type { ResourceCheck } from '../extensions.js';
import type { JavaScriptUDF, MessageTransform } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import { TRANSFORM_LIMITS } from './limits.js';
import type { Sandbox } from './sandbox.js';

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
/** `import(…)` and `import.meta`, with whatever may stand between. Calls from inside a context would come back with Node's objects. */
const IMPORT = /\bimport\b(?:\s|\/\*[\s\S]*?\*\/|\/\/[^\n]*\n)*[(.]/;

/** Checks the message transforms of a topic or subscription that is about to be stored. */
export function checkTransforms(
  sandbox: Sandbox,
): ResourceCheck<{ readonly messageTransforms: readonly MessageTransform[] }> {
  return async ({ messageTransforms }) => {
    await requireTransforms(sandbox, messageTransforms);
  };
}

/** Throws `invalid-argument` unless all of them can be run. */
export async function requireTransforms(
  sandbox: Sandbox,
  transforms: readonly MessageTransform[],
): Promise<void> {
  const { transformsMax } = TRANSFORM_LIMITS;
  if (transforms.length > transformsMax) {
    throw invalidArgument(
      `There may be at most ${transformsMax} message transforms, not ${transforms.length}.`,
    );
  }
  const names = new Set<string>();
  for (const transform of transforms) {
    const udf = udfOf(transform);
    if (names.has(udf.functionName)) {
      throw invalidArgument(`Two message transforms have the function name '${udf.functionName}'.`);
    }
    names.add(udf.functionName);
    await requireFunction(sandbox, udf);
  }
}

/** The function of a transform; throws `invalid-argument` when it is of another kind, or none. */
export function udfOf({ transform }: MessageTransform): JavaScriptUDF {
  if (transform.case === 'javascriptUdf') return transform.value;
  if (transform.case === undefined) throw invalidArgument('A message transform needs a javascript_udf.');
  throw invalidArgument(`Message transforms of kind '${transform.case}' are not supported by this server.`);
}

async function requireFunction(sandbox: Sandbox, { functionName, code }: JavaScriptUDF): Promise<void> {
  const fail = (reason: string): Error =>
    invalidArgument(`Invalid JavaScript UDF given (function_name=${functionName}): ${reason}.`);
  if (!IDENTIFIER.test(functionName)) throw fail('the name is none that a function can have');
  const bytes = Buffer.byteLength(code);
  if (bytes > TRANSFORM_LIMITS.codeBytesMax) {
    throw fail(`the code has ${bytes} bytes, more than ${TRANSFORM_LIMITS.codeBytesMax}`);
  }
  if (IMPORT.test(code)) throw fail('import is not available');
  const result = await sandbox.run({ fn: { name: functionName, code }, input: undefined });
  if (result.kind === 'failed') throw fail(result.reason);
}
