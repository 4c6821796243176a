#include "comm/secrets/ckks/samplers.h"

#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::ckks {
namespace {

ChaCha20Stream Stream(uint64_t number) {
  constexpr std::array<uint8_t, 32> kSeed = {1, 2, 3};
  return Must(ChaCha20Stream::Create(kSeed, number));
}

// Chi-squared of counts against probabilities; with k cells its mean is k - 1, its deviation
// sqrt(2 (k - 1)).
double ChiSquared(const std::vector<double>& counts, const std::vector<double>& probabilities,
                  double total) {
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * probabilities[i];
    sum += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return sum;
}

void ExpectLikely(const std::vector<double>& counts, const std::vector<double>& probabilities,
                  double total) {
  const double freedom = double(counts.size()) - 1;
  EXPECT_NEAR(ChiSquared(counts, probabilities, total), freedom, 5 * std::sqrt(2 * freedom));
}

TEST(SamplersTest, UniformOnesAreBelowThePrimeAndFillAllOfItsRange) {
  // 65 of 128 numbers are kept: the worst case of throwing away.
  for (const uint64_t prime : {uint64_t{67}, uint64_t{12289}, uint64_t{0xfffffffffffc001}}) {
    ChaCha20Stream stream = Stream(1);
    std::vector<uint64_t> residues(64 * 1024);
    SampleUniform(stream, Modulus(prime), residues);
    constexpr size_t kCells = 64;
    std::vector<double> counts(kCells), probabilities(kCells);
    for (const uint64_t r : residues) {
      ASSERT_LT(r, prime);
      counts[size_t(double(r) / double(prime) * kCells)] += 1;
    }
    // Cell c has the numbers from ceil(c q / 64) on.
    const auto first = [&](size_t c) { return std::ceil(double(c) * double(prime) / kCells); };
    for (size_t c = 0; c < kCells; ++c) {
      probabilities[c] = (first(c + 1) - first(c)) / double(prime);
    }
    ExpectLikely(counts, probabilities, double(residues.size()));
  }
}

TEST(SamplersTest, TernaryOnesAreEquallyOften) {
  ChaCha20Stream stream = Stream(2);
  std::vector<int64_t> small(90001);
  SampleTernary(stream, small);
  std::vector<double> counts(3);
  // Neighbours are independent, too.
  std::vector<double> pairs(9);
  for (size_t i = 0; i < small.size(); ++i) {
    ASSERT_LE(std::abs(small[i]), 1);
    counts[size_t(small[i] + 1)] += 1;
    if (i > 0) pairs[size_t(3 * small[i - 1] + small[i] + 4)] += 1;
  }
  ExpectLikely(counts, std::vector<double>(3, 1.0 / 3), double(small.size()));
  ExpectLikely(pairs, std::vector<double>(9, 1.0 / 9), double(small.size() - 1));
}

TEST(SamplersTest, ErrorsAreCentredBinomial) {
  ChaCha20Stream stream = Stream(3);
  std::vector<int64_t> small(400'000);
  SampleError(stream, small);
  std::map<int64_t, double> seen;
  double sum = 0, squares = 0;
  for (const int64_t e : small) {
    ASSERT_LE(std::abs(e), kErrorPairs);
    seen[e] += 1;
    sum += double(e);
    squares += double(e) * double(e);
  }
  const double count = double(small.size());
  EXPECT_NEAR(sum / count, 0, 5 * std::sqrt(kErrorVariance / count));
  EXPECT_NEAR(squares / count, kErrorVariance, 5 * kErrorVariance * std::sqrt(2 / count));
  // P(e) = C(42, 21 + e) / 2^42, where at least a few are expected.
  std::vector<double> counts, probabilities;
  for (int e = -12; e <= 12; ++e) {
    const double log =
        std::lgamma(43) - std::lgamma(22 + e) - std::lgamma(22 - e) - 42 * std::log(2.0);
    counts.push_back(seen[e]);
    probabilities.push_back(std::exp(log));
  }
  ExpectLikely(counts, probabilities, count);
}

TEST(SamplersTest, GaussianOnesHaveTheirDeviation) {
  for (const double deviation : {3.0, 0x1p20, 0x1p43}) {
    ChaCha20Stream stream = Stream(4);
    std::vector<int64_t> integers(200'001);
    SampleGaussian(stream, deviation, integers);
    double sum = 0, squares = 0, largest = 0;
    std::vector<double> counts(4);
    for (const int64_t x : integers) {
      const double z = double(x) / deviation;
      sum += z;
      squares += z * z;
      largest = std::max(largest, std::abs(z));
      counts[z < -1 ? 0 : z < 0 ? 1 : z < 1 ? 2 : 3] += 1;
    }
    const double count = double(integers.size());
    EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
    const double rounding = 1 / (12 * deviation * deviation);
    EXPECT_NEAR(squares / count, 1 + rounding, 5 * std::sqrt(2 / count));
    EXPECT_GT(largest, 3.8);
    EXPECT_LT(largest, 6);
    // Where rounding does not move numbers between cells.
    if (deviation > 1000) {
      constexpr double kTail = 0.15865525393145707;
      ExpectLikely(counts, {kTail, 0.5 - kTail, 0.5 - kTail, kTail}, count);
    }
  }
}

// Words of which there is one in 2^64 and one in 2^32: numbers beyond 9 and 6 deviations. The
// security of what is flooded with such noise is that of a tail without an end.
TEST(SamplersTest, ExtremeWordsGiveExtremeNumbers) {
  EXPECT_NEAR(GaussianRadius(0), 9.4926, 1e-3);
  EXPECT_NEAR(GaussianRadius(uint64_t{1} << 32), 6.6604, 1e-3);
  EXPECT_NEAR(GaussianRadius(uint64_t{1} << 63), 1.17741, 1e-5);
  EXPECT_EQ(GaussianRadius(~uint64_t{0}), 0);
  for (uint64_t word = 1; word < 64; word *= 2) {
    EXPECT_GT(GaussianRadius(word), GaussianRadius(2 * word)) << "the last bits count";
    EXPECT_GT(GaussianRadius(word), 8.5);
  }
}

TEST(SamplersTest, TheSameStreamGivesTheSame) {
  for (const auto sample : {SampleTernary, SampleError}) {
    ChaCha20Stream a = Stream(5), b = Stream(5), c = Stream(6);
    std::vector<int64_t> x(5000), y(5000), z(5000);
    sample(a, x);
    sample(b, y);
    sample(c, z);
    EXPECT_EQ(x, y);
    EXPECT_NE(x, z);
  }
}

}  // namespace
}  // namespace dtnn::ckks
