// The ABI of test/chain/contracts/, as viem reads types from.
import { parseAbi } from "viem";

export const EXCHANGE_EVENTS = parseAbi([
  "event LogItemUpdate(uint256 id)",
  "event LogMake(bytes32 indexed id, bytes32 indexed pair, address indexed maker, address pay_gem, address buy_gem, uint128 pay_amt, uint128 buy_amt, uint64 timestamp)",
  "event LogBump(bytes32 indexed id, bytes32 indexed pair, address indexed maker, address pay_gem, address buy_gem, uint128 pay_amt, uint128 buy_amt, uint64 timestamp)",
  "event LogTake(bytes32 id, bytes32 indexed pair, address indexed maker, address pay_gem, address buy_gem, address indexed taker, uint128 take_amt, uint128 give_amt, uint64 timestamp)",
  "event LogKill(bytes32 indexed id, bytes32 indexed pair, address indexed maker, address pay_gem, address buy_gem, uint128 pay_amt, uint128 buy_amt, uint64 timestamp)",
  "event LogTrade(uint256 pay_amt, address indexed pay_gem, uint256 buy_amt, address indexed buy_gem)",
  "event LogMinSell(address pay_gem, uint256 min_amount)",
  "event LogAddTokenPairWhitelist(address baseToken, address quoteToken)",
  "event LogRemTokenPairWhitelist(address baseToken, address quoteToken)",
]);

export const EXCHANGE_ABI = [
  ...EXCHANGE_EVENTS,
  ...parseAbi([
    "constructor()",
    "function make(address payToken, uint128 payAmount, address buyToken, uint128 buyAmount) returns (uint256)",
    "function take(uint256 id, uint128 quantity)",
    "function kill(uint256 id)",
    "function bump(uint256 id)",
    "function matchOrMake(address payToken, uint128 payAmount, address buyToken, uint128 buyAmount)",
    "function setDust(address token, uint256 amount)",
    "function whitelist(address base, address quote)",
    "function unwhitelist(address base, address quote)",
    "function lastId() view returns (uint256)",
    "function offers(uint256 id) view returns (uint128 payAmount, uint128 buyAmount, address payToken, address buyToken, address maker, uint64 timestamp)",
  ]),
] as const;

export const TAKER_ABI = parseAbi([
  "constructor(address exchange)",
  "function take(uint256[] ids, uint128[] quantities)",
]);
