// DTNN_UNROLL(rounds) before a loop: unrolls it by so many, wholly where it has no more. GCC does
// so only when told, and in loops that are not unrolled arrays of vectors live in memory.

#ifndef DTNN_KERNELS_SIMD_UNROLL_H_
#define DTNN_KERNELS_SIMD_UNROLL_H_

#if defined(__GNUC__) && !defined(__clang__)
#define DTNN_PRAGMA(text) _Pragma(#text)
#define DTNN_UNROLL(rounds) DTNN_PRAGMA(GCC unroll rounds)
#else
#define DTNN_UNROLL(rounds) _Pragma("unroll")
#endif

#endif  // DTNN_KERNELS_SIMD_UNROLL_H_
