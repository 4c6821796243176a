#include "comm/secrets/ckks/encoder.h"

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::ckks {
namespace {

std::vector<double> Random(size_t count, double limit) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(-limit, limit);
  std::vector<double> values(count);
  for (double& x : values) x = uniform(random);
  return values;
}

std::vector<uint64_t> Encoded(const CkksParameters& p, std::span<const double> values) {
  const std::vector<uint64_t> primes = Must(ModulusPrimes(p));
  std::vector<uint64_t> residues(p.degree() * primes.size());
  Must(Encoder(p, primes).Encode(values, p.sum_limit(), std::span(residues)));
  return residues;
}

TEST(EncoderTest, DecodingGivesTheNumbersBack) {
  for (const Packing packing : {Packing::kCoefficients, Packing::kSlots}) {
    for (const int degree : {3, 4, 8, 13}) {
      for (const int scale : {30, 40, 45, 61, 80}) {
        const CkksParameters p{
            .log2_degree = degree, .log2_scale = scale, .security = 0, .packing = packing};
        const std::vector<uint64_t> primes = Must(ModulusPrimes(p));
        for (const double limit : {1e-6, 1.0, p.sum_limit()}) {
          const std::vector<double> values = Random(p.values(), limit);
          const std::vector<uint64_t> residues = Encoded(p, values);
          std::vector<double> decoded(values.size());
          Must(Encoder(p, primes).Decode(std::span<const uint64_t>(residues), std::span(decoded)));
          // Rounding of coefficients, which a slot adds up, and of doubles.
          const double unit = packing == Packing::kSlots ? std::sqrt(double(p.degree())) : 1;
          const double tolerance = 2 * unit / p.scale() + limit * 0x1p-48;
          for (size_t i = 0; i < values.size(); ++i) {
            ASSERT_NEAR(decoded[i], values[i], tolerance) << p.ToString() << " at " << i;
          }
        }
      }
    }
  }
}

TEST(EncoderTest, TheDefaultScaleKeepsThirtyBits) {
  for (const Packing packing : {Packing::kCoefficients, Packing::kSlots}) {
    const CkksParameters p{.packing = packing};
    const std::vector<double> values = Random(p.values(), 1);
    std::vector<double> decoded(values.size());
    Must(Encoder(p, Must(ModulusPrimes(p)))
             .Decode(std::span<const uint64_t>(Encoded(p, values)), std::span(decoded)));
    for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(decoded[i], values[i], 0x1p-30);
  }
}

// Slots are values at complex roots of X^n = -1, by the definition.
TEST(EncoderTest, SlotsAreValuesAtRoots) {
  const CkksParameters p{
      .log2_degree = 4, .log2_scale = 40, .security = 0, .packing = Packing::kSlots};
  const size_t n = p.degree();
  const std::vector<double> values = Random(p.values(), 10);
  const std::vector<uint64_t> residues = Encoded(p, values);
  const Modulus q(Must(ModulusPrimes(p))[0]);
  std::vector<bool> found(values.size());
  for (size_t k = 1; k < 2 * n; k += 4) {
    std::complex<double> value = 0;
    for (size_t i = 0; i < n; ++i) {
      const uint64_t r = residues[i];
      const double c = r > q.value() / 2 ? -double(q.value() - r) : double(r);
      value +=
          c / p.scale() * std::polar(1.0, std::numbers::pi * double(k * i % (2 * n)) / double(n));
    }
    EXPECT_NEAR(value.imag(), 0, 1e-9);
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::abs(value.real() - values[i]) < 1e-9) found[i] = true;
    }
  }
  EXPECT_THAT(found, ::testing::Each(true));
}

TEST(EncoderTest, CoefficientsAreRoundedToTheNearest) {
  const CkksParameters p{.log2_degree = 3, .log2_scale = 10, .security = 0, .sum_bits = 20};
  const std::vector<double> values = {1, -1, 0.4 / 1024, 0.6 / 1024, -0.6 / 1024, 100.25};
  const std::vector<uint64_t> residues = Encoded(p, values);
  const uint64_t q = Must(ModulusPrimes(p))[0];
  EXPECT_THAT(residues, ::testing::ElementsAre(1024, q - 1024, 0, 1, q - 1, 102656, 0, 0));
}

// Residues of a number beyond 64 bits, against integers of the compiler.
TEST(EncoderTest, TwoPrimesHoldTheSameInteger) {
  const CkksParameters p{.log2_degree = 3, .log2_scale = 61, .security = 0};
  const std::vector<double> values = {1, -1, 1000.5, -131071.75, 0x1p-61, -0x1p-60, 0, 1e5};
  const std::vector<uint64_t> residues = Encoded(p, values);
  const std::vector<uint64_t> primes = Must(ModulusPrimes(p));
  for (size_t k = 0; k < 2; ++k) {
    for (size_t i = 0; i < values.size(); ++i) {
      const __int128 integer = __int128(std::ldexp(values[i], 61));
      const __int128 q = __int128(primes[k]);
      EXPECT_EQ(residues[k * p.degree() + i], uint64_t((integer % q + q) % q)) << values[i];
    }
  }
}

TEST(EncoderTest, FloatsAndFewerNumbersThanFit) {
  const CkksParameters p{.log2_degree = 3, .security = 0};
  const std::vector<uint64_t> primes = Must(ModulusPrimes(p));
  const Encoder encoder(p, primes);
  const std::vector<float> values = {0.5f, -3};
  std::vector<uint64_t> residues(p.degree(), 99);
  Must(encoder.Encode(std::span(values), 4, std::span(residues)));
  std::vector<float> decoded(3, 7);
  Must(encoder.Decode(std::span<const uint64_t>(residues), std::span(decoded)));
  EXPECT_THAT(decoded, ::testing::ElementsAre(0.5f, -3, 0));
}

// Largest sums are numbers; what is random modulo the primes is none, whichever number is wanted.
TEST(EncoderTest, WhatNoSumReachesIsRefused) {
  for (const int scale : {40, 61}) {
    const CkksParameters p{.log2_degree = 10, .log2_scale = scale, .security = 0};
    const std::vector<uint64_t> primes = Must(ModulusPrimes(p));
    const Encoder encoder(p, primes);
    const std::vector<double> largest(p.values(), p.sum_limit() * (1 - 0x1p-40));
    std::vector<double> decoded(1);
    Must(encoder.Decode(std::span<const uint64_t>(Encoded(p, largest)), std::span(decoded)));
    std::mt19937_64 random(3);
    std::vector<uint64_t> residues(p.degree() * primes.size());
    for (size_t i = 0; i < residues.size(); ++i) residues[i] = random() % primes[i / p.degree()];
    EXPECT_EQ(encoder.Decode(std::span<const uint64_t>(residues), std::span(decoded)).code(),
              absl::StatusCode::kDataLoss);
  }
}

TEST(EncoderTest, NumbersThatWouldWrapAroundAreRefused) {
  const CkksParameters p{.log2_degree = 3, .security = 0};
  const Encoder encoder(p, Must(ModulusPrimes(p)));
  std::vector<uint64_t> residues(p.degree());
  using Limits = std::numeric_limits<double>;
  for (const double bad :
       {4.0, -4.0, 1e300, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
    const std::vector<double> values = {0, bad};
    EXPECT_EQ(encoder.Encode(std::span(values), 4, std::span(residues)).code(),
              absl::StatusCode::kInvalidArgument)
        << bad;
  }
  const std::vector<double> many(9);
  EXPECT_EQ(encoder.Encode(std::span(many), 4, std::span(residues)).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dtnn::ckks
