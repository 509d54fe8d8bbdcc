import { XMLParser } from 'fast-xml-parser';
import { describe, expect, it } from 'vitest';
import { AwsFault } from './fault.js';
import { entryMap, flatList, flatMap, memberList, scalar, scalars, structure } from './shape.js';
import { escapeXml, writeXmlAnswer, writeXmlFault } from './xml.js';

const answer = { operation: 'Op', namespace: 'urn:x', requestId: 'r-1' };

describe('XML of the Query protocol', () => {
  it('escapes what parsers change', () => {
    expect(escapeXml('a<b>&"\r\n\t')).toBe('a&lt;b&gt;&amp;&quot;&#xD;\n\t');
    expect(escapeXml('x\u0000y\ud800z\ufffe😀')).toBe('x\ufffdy\ufffdz\ufffd😀');
  });

  it('flattens the lists and maps of SQS', () => {
    const output = structure({
      Messages: flatList('Message', structure({ Body: scalar, Attributes: flatMap('Attribute') })),
    });
    const result = { Messages: [{ Body: 'a', Attributes: { S: '1' } }, { Body: 'b' }] };
    expect(writeXmlAnswer({ ...answer, output, result })).toBe(
      '<?xml version="1.0"?><OpResponse xmlns="urn:x"><OpResult>' +
        '<Message><Body>a</Body><Attribute><Name>S</Name><Value>1</Value></Attribute></Message>' +
        '<Message><Body>b</Body></Message></OpResult>' +
        '<ResponseMetadata><RequestId>r-1</RequestId></ResponseMetadata></OpResponse>',
    );
  });

  it('wraps the lists and maps of SNS, empty ones too', () => {
    const output = structure({
      Topics: memberList(scalars('TopicArn')),
      Attributes: entryMap(),
      Failed: memberList(),
    });
    const result = { Topics: [{ TopicArn: 't' }], Attributes: { k: 'v' }, Failed: [] };
    const text = writeXmlAnswer({ ...answer, output, result });
    expect(new XMLParser().parse(text)).toMatchObject({
      OpResponse: {
        OpResult: {
          Topics: { member: { TopicArn: 't' } },
          Attributes: { entry: { key: 'k', value: 'v' } },
          Failed: '',
        },
      },
    });
  });

  it('has no result element when there is nothing to give', () => {
    expect(writeXmlAnswer({ ...answer, output: undefined, result: undefined })).not.toContain('OpResult');
  });

  it('writes faults with the Query code, side and text', () => {
    const kind = { type: 'QueueDoesNotExist', code: 'AWS.X', status: 400, modelled: true };
    const sqs = { namespace: 'urn:x', requestId: 'r-1', detailed: true };
    const text = writeXmlFault(new AwsFault(kind, 'json text', 'query <text>'), sqs);
    expect(text).toContain('<Type>Sender</Type><Code>AWS.X</Code><Message>query &lt;text&gt;</Message>');
    const receiver = writeXmlFault(new AwsFault({ ...kind, status: 503 }, 'm'), sqs);
    expect(receiver).toContain('<Type>Receiver</Type>');
  });
});
