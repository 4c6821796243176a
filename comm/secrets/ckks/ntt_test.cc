#include "comm/secrets/ckks/ntt.h"

#include <algorithm>
#include <random>
#include <vector>

#include "comm/secrets/ckks/primes.h"
#include "gtest/gtest.h"

namespace dtnn::ckks {
namespace {

using Polynomial = std::vector<uint64_t>;

// Modulo X^n + 1, in wide arithmetic.
Polynomial SchoolbookProduct(const Polynomial& a, const Polynomial& b, uint64_t q) {
  const size_t n = a.size();
  Polynomial product(n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      const uint64_t term = uint64_t(uint128{a[i]} * b[j] % q);
      uint64_t& to = product[(i + j) % n];
      to = uint64_t((uint128{to} + (i + j < n ? term : q - term)) % q);
    }
  }
  return product;
}

Polynomial ProductByTransforms(const Ntt& ntt, Polynomial a, Polynomial b) {
  ntt.Forward(a);
  ntt.Forward(b);
  for (size_t i = 0; i < a.size(); ++i) a[i] = ntt.modulus().Multiply(a[i], b[i]);
  ntt.Inverse(a);
  return a;
}

Polynomial Random(size_t n, uint64_t q, std::mt19937_64& random) {
  Polynomial a(n);
  std::ranges::generate(a, [&] { return random() % q; });
  return a;
}

TEST(NttTest, ProductsAreThoseOfTheSchoolbook) {
  std::mt19937_64 random(3);
  for (int log2 = 1; log2 <= 9; ++log2) {
    const size_t n = size_t{1} << log2;
    for (const int bits : {20, 30, 31, 32, 33, 50, 60}) {
      const uint64_t q = TransformPrimes(bits, 2 * n, 1)->front();
      const Ntt ntt(log2, q);
      ASSERT_EQ(ntt.degree(), n);
      const Polynomial a = Random(n, q, random), b = Random(n, q, random);
      ASSERT_EQ(ProductByTransforms(ntt, a, b), SchoolbookProduct(a, b, q)) << n << " " << q;
      // Where sums on the way are largest.
      const Polynomial largest(n, q - 1);
      ASSERT_EQ(ProductByTransforms(ntt, largest, largest), SchoolbookProduct(largest, largest, q));
    }
  }
}

// The transform is linear: enough to test it, at a degree too large for schoolbooks, on
// X^i X^j = +-X^(i + j).
TEST(NttTest, MonomialsOfALargeDegree) {
  std::mt19937_64 random(4);
  for (const int log2 : {13, 15}) {
    const size_t n = size_t{1} << log2;
    const uint64_t q = TransformPrimes(60, 2 * n, 1)->front();
    const Ntt ntt(log2, q);
    for (int round = 0; round < 20; ++round) {
      const size_t i = random() % n, j = random() % n;
      Polynomial a(n), b(n), wanted(n);
      a[i] = 5;
      b[j] = q - 1;
      wanted[(i + j) % n] = i + j < n ? q - 5 : 5;
      ASSERT_EQ(ProductByTransforms(ntt, a, b), wanted) << i << " " << j;
    }
  }
}

TEST(NttTest, ThereAndBackIsTheSame) {
  std::mt19937_64 random(5);
  for (int log2 = 1; log2 <= 14; ++log2) {
    const size_t n = size_t{1} << log2;
    const uint64_t q = TransformPrimes(60, 2 * n, 1)->front();
    const Ntt ntt(log2, q);
    const Polynomial a = Random(n, q, random);
    Polynomial b = a;
    ntt.Forward(b);
    EXPECT_NE(a, b);
    EXPECT_TRUE(std::ranges::all_of(b, [&](uint64_t x) { return x < q; }));
    ntt.Inverse(b);
    EXPECT_EQ(a, b) << n;
  }
}

// The values at the roots of X^n = -1, each once.
TEST(NttTest, GivesTheValuesAtTheRoots) {
  const size_t n = 16;
  const uint64_t q = TransformPrimes(30, 2 * n, 1)->front();
  const Ntt ntt(4, q);
  std::mt19937_64 random(6);
  const Polynomial a = Random(n, q, random);
  Polynomial values = a;
  ntt.Forward(values);
  Polynomial wanted;
  const uint64_t root = SmallestPrimitiveRoot(2 * n, q);
  for (uint64_t k = 1; k < 2 * n; k += 2) {
    const uint64_t x = ntt.modulus().Power(root, k);
    uint64_t value = 0;
    for (size_t i = n; i-- > 0;) value = uint64_t((uint128{value} * x + a[i]) % q);
    wanted.push_back(value);
  }
  std::ranges::sort(values);
  std::ranges::sort(wanted);
  EXPECT_EQ(values, wanted);
}

}  // namespace
}  // namespace dtnn::ckks
