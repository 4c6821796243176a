#include "comm/secrets/ckks/primes.h"

#include "comm/secrets/ckks/modulus.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::ckks {
namespace {

using ::testing::ElementsAre;

TEST(PrimesTest, AgreesWithTrialDivision) {
  for (uint64_t n = 0; n < 20000; ++n) {
    bool prime = n >= 2;
    for (uint64_t d = 2; d * d <= n; ++d) prime &= n % d != 0;
    ASSERT_EQ(IsPrime(n), prime) << n;
  }
}

TEST(PrimesTest, StrongPseudoprimesAreFoundOut) {
  // The smallest composites that pass with the first 1, 2, ... 9 primes as bases (OEIS A014233).
  for (const uint64_t n : {2047ull, 1373653ull, 25326001ull, 3215031751ull, 2152302898747ull,
                           3474749660383ull, 341550071728321ull, 3825123056546413051ull}) {
    EXPECT_FALSE(IsPrime(n)) << n;
  }
  EXPECT_TRUE(IsPrime((uint64_t{1} << 61) - 1));
}

// The primes that other libraries choose by the same rule.
TEST(PrimesTest, TheLargestOnesComeFirst) {
  EXPECT_THAT(*TransformPrimes(60, 2 * 8192, 4), ElementsAre(0xfffffffffffc001, 0xffffffffffe8001,
                                                             0xffffffffffd8001, 0xffffffffffc4001));
  EXPECT_THAT(*TransformPrimes(50, 2 * 8192, 3),
              ElementsAre(0x3ffffffffc001, 0x3fffffffcc001, 0x3ffffffef4001));
  EXPECT_THAT(*TransformPrimes(40, 2 * 8192, 3),
              ElementsAre(0xfffffdc001, 0xfffff4c001, 0xfffff3c001));
  EXPECT_THAT(*TransformPrimes(60, 2 * 16384, 2),
              ElementsAre(0xffffffffffe8001, 0xffffffffffd8001));
}

TEST(PrimesTest, SaysWhereThereAreTooFew) {
  for (const auto& [bits, step] : {std::pair{14, uint64_t{16384}},
                                   {5, uint64_t{16}},
                                   {62, uint64_t{16}},
                                   {1, uint64_t{2}},
                                   {20, uint64_t{12}}}) {
    const auto primes = TransformPrimes(bits, step, 9);
    EXPECT_EQ(primes.status().code(), absl::StatusCode::kInvalidArgument) << bits;
  }
}

TEST(PrimesTest, TheSmallestRoots) {
  EXPECT_EQ(SmallestPrimitiveRoot(2 * 8192, 0xfffffffffffc001), 25959043411404u);
  EXPECT_EQ(SmallestPrimitiveRoot(2 * 8192, 0xfffffdc001), 30370987u);
  // 2^2 = -1 modulo 5; 2 and 3 are the roots.
  EXPECT_EQ(SmallestPrimitiveRoot(4, 5), 2u);
}

}  // namespace
}  // namespace dtnn::ckks
