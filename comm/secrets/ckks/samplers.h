// The random polynomials of CKKS. Each takes from a ChaCha20 stream; the same stream gives the same
// polynomial on every machine.

#ifndef DTNN_COMM_SECRETS_CKKS_SAMPLERS_H_
#define DTNN_COMM_SECRETS_CKKS_SAMPLERS_H_

#include <cstdint>
#include <span>

#include "comm/secrets/ckks/modulus.h"
#include "comm/secrets/crypto/chacha20_stream.h"

namespace dtnn::ckks {

// Uniform below q: numbers of as many bits as q, those that are too large thrown away. The result
// is public.
void SampleUniform(ChaCha20Stream& stream, const Modulus& q, std::span<uint64_t> residues);

// -1, 0 and 1, equally often: bytes modulo 3, byte 255 thrown away. How many are thrown away can be
// seen in time and says nothing about those that are kept.
void SampleTernary(ChaCha20Stream& stream, std::span<int64_t> small);

// The centred binomial distribution of 21 pairs of bits: the difference of two numbers of ones,
// with a standard deviation of sqrt(10.5) = 3.24, no more than 21. Constant time.
constexpr int kErrorPairs = 21;
constexpr double kErrorVariance = kErrorPairs / 2.0;
void SampleError(ChaCha20Stream& stream, std::span<int64_t> small);

// Normally distributed with standard deviation `deviation` (1 to 2^56), rounded to integers (Box
// and Muller, 1958; from 53 and 64 random bits, so never beyond 9.5 deviations). The time of
// logarithm and cosine depends slightly on the numbers: for noise that is added and shown with its
// sum.
void SampleGaussian(ChaCha20Stream& stream, double deviation, std::span<int64_t> integers);

// The length of a pair of normally distributed numbers that a random word gives. All of its 64 bits
// count: they decide how far the tail goes.
double GaussianRadius(uint64_t word);

}  // namespace dtnn::ckks

#endif  // DTNN_COMM_SECRETS_CKKS_SAMPLERS_H_
