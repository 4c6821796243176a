#include "comm/secrets/ckks/modulus.h"

#include <random>

#include "gtest/gtest.h"

namespace dtnn::ckks {
namespace {

constexpr uint64_t kPrimes[] = {3, 17, 12289, 0x7ffe6001, 0xfffffdc001, 0xfffffffffffc001};

TEST(ModulusTest, AgreesWithWideArithmetic) {
  std::mt19937_64 random(1);
  for (const uint64_t prime : kPrimes) {
    const Modulus q(prime);
    for (int i = 0; i < 20000; ++i) {
      // The largest residues, where carries are lost, half of the time.
      const uint64_t r = random();
      const uint64_t a = i % 2 ? r % prime : prime - 1 - r % 3 % prime;
      const uint64_t b = i % 4 < 2 ? random() % prime : prime - 1;
      const uint64_t x = i % 8 ? random() : ~uint64_t{0};
      ASSERT_EQ(q.Add(a, b), uint64_t((uint128{a} + b) % prime));
      ASSERT_EQ(q.Subtract(a, b), uint64_t((uint128{a} + prime - b) % prime));
      ASSERT_EQ(q.Multiply(x, b), uint64_t(uint128{x} * b % prime)) << prime << " " << x;
      ASSERT_EQ(q.Reduce(x), x % prime);
      ASSERT_EQ(q.Prepare(b).quotient, uint64_t((uint128{b} << 64) / prime)) << prime << " " << b;
      ASSERT_LT(q.MultiplyLazily(x, q.Prepare(b)), 2 * prime);
      const int64_t s = int64_t(x);
      const __int128 wanted = (__int128{s} % __int128(prime) + prime) % prime;
      ASSERT_EQ(q.ReduceSigned(s), uint64_t(wanted)) << prime << " " << s;
    }
  }
}

TEST(ModulusTest, SignedSmallNumbers) {
  const Modulus q(17);
  EXPECT_EQ(q.FromSigned(-1), 16u);
  EXPECT_EQ(q.FromSigned(-16), 1u);
  EXPECT_EQ(q.FromSigned(5), 5u);
  EXPECT_EQ(q.FromSigned(0), 0u);
}

TEST(ModulusTest, InversesAndPowers) {
  std::mt19937_64 random(2);
  for (const uint64_t prime : kPrimes) {
    const Modulus q(prime);
    for (int i = 0; i < 100; ++i) {
      const uint64_t x = 1 + random() % (prime - 1);
      ASSERT_EQ(q.Multiply(x, q.Inverse(x)), 1u) << prime << " " << x;
      ASSERT_EQ(q.Power(x, 3), q.Multiply(q.Multiply(x, x), x));
      ASSERT_EQ(q.Power(x, 0), 1u);
    }
  }
}

}  // namespace
}  // namespace dtnn::ckks
