// Gauss-Legendre quadrature on [0, 1] with 32 nodes: exact for polynomials of degree 63.
// Numerics: the zeros x of P_32 and the weights 2 / ((1 - x^2) P_32'(x)^2) of [-1, 1], moved to
// [0, 1] (Abramowitz & Stegun 1964, 25.4.30).
#pragma once

#include "leakscore/isa.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

inline constexpr int legendre_size = 32;
static constexpr double legendre_nodes[legendre_size] = {
    0x1.66a18fbf64a0fp-10, 0x1.d77b63ad0c91bp-8, 0x1.20aae7fac455ap-6, 0x1.0a9fed30405eep-5,
    0x1.a8ab25d459a36p-5,  0x1.347ec0a5e57b4p-4, 0x1.a4e5adf8ed0ebp-4, 0x1.123ed9c52d88dp-3,
    0x1.590aec76f00edp-3,  0x1.a62dd72d3a6b8p-3, 0x1.f8ef3af329ac5p-3, 0x1.2844a541c8387p-2,
    0x1.5615518d42105p-2,  0x1.857c20798fdadp-2, 0x1.b607c563a0372p-2, 0x1.e74437b7733b6p-2,
    0x1.0c5de42446625p-1,  0x1.24fc1d4e2fe47p-1, 0x1.3d41efc338129p-1, 0x1.54f557395ef7dp-1,
    0x1.6bddad5f1be3cp-1,  0x1.81c431433594fp-1, 0x1.96748a34b1652p-1, 0x1.a9bd44e243fc5p-1,
    0x1.bb70498eb49ddp-1,  0x1.cb634a40e25e3p-1, 0x1.d97027eb43509p-1, 0x1.e5754da2ba65dp-1,
    0x1.ef56012cfbfa1p-1,  0x1.f6faa8c029dd5p-1, 0x1.fc510938a5e6ep-1, 0x1.ff4caf38204dbp-1};
static constexpr double legendre_weights[legendre_size] = {
    0x1.cbf8bc743cc5cp-9, 0x1.0aa3c248696c9p-7, 0x1.a0060a8531ffap-7, 0x1.18c5800a355d9p-6,
    0x1.5ee963a335495p-6, 0x1.a1c6ae961fbfap-6, 0x1.e0bd76c924981p-6, 0x1.0d9b9a62cac10p-5,
    0x1.2854103b35e0cp-5, 0x1.40483e126fd14p-5, 0x1.553ee25ebebc6p-5, 0x1.6705e18e13ed1p-5,
    0x1.7572bdb3f6e51p-5, 0x1.8062fc0f6fef9p-5, 0x1.87bc776f8c6d7p-5, 0x1.8b6d9eaec77adp-5,
    0x1.8b6d9eaec77adp-5, 0x1.87bc776f8c6d7p-5, 0x1.8062fc0f6fef9p-5, 0x1.7572bdb3f6e51p-5,
    0x1.6705e18e13ed1p-5, 0x1.553ee25ebebc6p-5, 0x1.40483e126fd14p-5, 0x1.2854103b35e0cp-5,
    0x1.0d9b9a62cac10p-5, 0x1.e0bd76c924981p-6, 0x1.a1c6ae961fbfap-6, 0x1.5ee963a335495p-6,
    0x1.18c5800a355d9p-6, 0x1.a0060a8531ffap-7, 0x1.0aa3c248696c9p-7, 0x1.cbf8bc743cc5cp-9};

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
