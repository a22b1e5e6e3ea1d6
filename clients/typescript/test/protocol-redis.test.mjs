// The protocol cases on redis.
import {testCases} from './support/protocol.mjs';

testCases('redis');
