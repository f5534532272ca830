// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

interface LendingPair {
    function token0() external view returns (address);
    function token1() external view returns (address);
    function swap(uint256 out0, uint256 out1, address to, bytes calldata data) external;
}

interface LentToken {
    function transfer(address to, uint256 value) external returns (bool);
}

/// Borrows from a Uniswap v2 pair, and gives back other amounts, of what it has.
contract FlashBorrower {
    function borrow(
        LendingPair pair,
        uint256 out0,
        uint256 out1,
        uint256 back0,
        uint256 back1
    ) external {
        pair.swap(out0, out1, address(this), abi.encode(back0, back1));
    }

    function uniswapV2Call(address, uint256, uint256, bytes calldata data) external {
        (uint256 back0, uint256 back1) = abi.decode(data, (uint256, uint256));
        LendingPair pair = LendingPair(msg.sender);
        if (back0 > 0) LentToken(pair.token0()).transfer(msg.sender, back0);
        if (back1 > 0) LentToken(pair.token1()).transfer(msg.sender, back1);
    }
}
