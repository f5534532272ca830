// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

interface RangePool {
    function token0() external view returns (address);
    function token1() external view returns (address);
    function mint(address, int24, int24, uint128, bytes calldata) external returns (uint256, uint256);
    function burn(int24, int24, uint128) external returns (uint256, uint256);
    function collect(address, int24, int24, uint128, uint128) external returns (uint128, uint128);
    function swap(address, bool, int256, uint160, bytes calldata) external returns (int256, int256);
    function flash(address, uint256, uint256, bytes calldata) external;
}

interface PaidToken {
    function transfer(address to, uint256 value) external returns (bool);
}

/// Uses Uniswap v3 pools with what it has of their tokens, whoever sends the transaction.
contract RangeUser {
    function mint(RangePool pool, int24 lower, int24 upper, uint128 amount) external {
        pool.mint(address(this), lower, upper, amount, "");
    }

    /// Takes liquidity out of a range, with what it has come to.
    function burn(RangePool pool, int24 lower, int24 upper, uint128 amount) external {
        pool.burn(lower, upper, amount);
        pool.collect(address(this), lower, upper, type(uint128).max, type(uint128).max);
    }

    /// A negative amount is what comes out.
    function swap(RangePool pool, bool sellsFirst, int256 amount, uint160 limit) external {
        pool.swap(address(this), sellsFirst, amount, limit, "");
    }

    function flash(RangePool pool, uint256 amount0, uint256 amount1) external {
        pool.flash(address(this), amount0, amount1, abi.encode(amount0, amount1));
    }

    function uniswapV3MintCallback(uint256 owed0, uint256 owed1, bytes calldata) external {
        pay(owed0, owed1);
    }

    function uniswapV3SwapCallback(int256 owed0, int256 owed1, bytes calldata) external {
        pay(owed0 > 0 ? uint256(owed0) : 0, owed1 > 0 ? uint256(owed1) : 0);
    }

    function uniswapV3FlashCallback(uint256 fee0, uint256 fee1, bytes calldata data) external {
        (uint256 amount0, uint256 amount1) = abi.decode(data, (uint256, uint256));
        pay(amount0 + fee0, amount1 + fee1);
    }

    function pay(uint256 owed0, uint256 owed1) private {
        if (owed0 > 0) PaidToken(RangePool(msg.sender).token0()).transfer(msg.sender, owed0);
        if (owed1 > 0) PaidToken(RangePool(msg.sender).token1()).transfer(msg.sender, owed1);
    }
}
