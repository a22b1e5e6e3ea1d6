// The protocol cases on sqlite.
import {testCases} from './support/protocol.mjs';

testCases('sqlite');
