// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Answers with any bytes at all: no word, half a word, a string that begins behind its end.
contract RawToken {
    bytes private symbolAnswer;
    bytes private nameAnswer;
    bytes private decimalsAnswer;

    constructor(bytes memory symbol_, bytes memory name_, bytes memory decimals_) {
        symbolAnswer = symbol_;
        nameAnswer = name_;
        decimalsAnswer = decimals_;
    }

    function symbol() external view {
        answer(symbolAnswer);
    }

    function name() external view {
        answer(nameAnswer);
    }

    function decimals() external view {
        answer(decimalsAnswer);
    }

    function answer(bytes memory data) private pure {
        assembly {
            return(add(data, 32), mload(data))
        }
    }
}
