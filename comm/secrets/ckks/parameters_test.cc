#include "comm/secrets/ckks/parameters.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::ckks {
namespace {

using ::testing::HasSubstr;

TEST(ParametersTest, TheDefaultIsSecureAtAllLevels) {
  for (const int level : {0, 128, 192, 256}) {
    EXPECT_EQ(absl::OkStatus(), Validate({.security = level}));
  }
  EXPECT_EQ(CkksParameters().ToString(),
            "degree 2^13, scale 2^40, 60-bit modulus, 128-bit security, coefficients");
}

TEST(ParametersTest, TheTableOfTheStandard) {
  const int bits[6][3] = {{27, 19, 14},    {54, 37, 29},    {109, 75, 58},
                          {218, 152, 118}, {438, 305, 237}, {881, 611, 476}};
  for (int degree = 10; degree <= 15; ++degree) {
    for (int level = 0; level < 3; ++level) {
      EXPECT_EQ(MaxModulusBits(degree, 128 + 64 * level), bits[degree - 10][level]);
    }
  }
  EXPECT_EQ(MaxModulusBits(9, 128), 0);
  EXPECT_EQ(MaxModulusBits(13, 80), 0);
}

// At every entry of the table that the scales reach: as many bits as it says, not one more.
TEST(ParametersTest, RefusesOneBitMoreThanTheTable) {
  int reached = 0;
  for (int degree = 10; degree <= 15; ++degree) {
    for (const int level : {128, 192, 256}) {
      const int most = MaxModulusBits(degree, level);
      for (int scale = 10; scale <= 80; ++scale) {
        const CkksParameters p{
            .log2_degree = degree, .log2_scale = scale, .security = level, .sum_bits = 4};
        const absl::Status status = Validate(p);
        ASSERT_EQ(status.ok(), p.modulus_bits() <= most) << p.ToString() << ": " << status;
        reached += p.modulus_bits() == most + 1 || p.modulus_bits() == most + 2;
      }
    }
  }
  EXPECT_GE(reached, 6);
}

TEST(ParametersTest, SaysWhatToUseInstead) {
  const absl::Status status = Validate({.log2_degree = 11, .security = 256});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("a modulus of 60 bits, and 256-bit security at polynomial degree 2^11 "
                        "allows 29: use degree 2^13"));
}

TEST(ParametersTest, NonsenseIsRefused) {
  for (const CkksParameters& p : std::initializer_list<CkksParameters>{
           {.log2_degree = 2, .security = 0},
           {.log2_degree = 17, .security = 0},
           {.log2_degree = -1, .security = 0},
           {.log2_degree = 9},
           {.log2_degree = 16},
           {.log2_scale = 9},
           {.log2_scale = 81},
           {.log2_scale = -2147483647},
           {.security = 100},
           {.security = -1},
           {.sum_bits = 2},
           {.log2_scale = 80, .sum_bits = 21},
           {.sum_bits = 2147483647},
       }) {
    EXPECT_EQ(Validate(p).code(), absl::StatusCode::kInvalidArgument)
        << p.log2_degree << " " << p.log2_scale << " " << p.security << " " << p.sum_bits;
  }
}

TEST(ParametersTest, TakesWhatIsAtItsLimits) {
  for (const CkksParameters& p : std::initializer_list<CkksParameters>{
           {.log2_degree = 3, .security = 0},
           {.log2_degree = 16, .security = 0},
           {.log2_scale = 10},
           {.log2_scale = 80},
           {.log2_scale = 80, .sum_bits = 20},
           {.sum_bits = 3},
           {.sum_bits = 60},
       }) {
    EXPECT_EQ(Validate(p), absl::OkStatus()) << p.ToString();
  }
  EXPECT_FALSE(Validate({.sum_bits = 61}).ok());
}

TEST(ParametersTest, OnePrimeUpToSixtyBitsThenTwo) {
  const CkksParameters small{.log2_scale = 30}, large{.log2_scale = 61};
  EXPECT_EQ(small.primes(), 1);
  EXPECT_EQ(small.modulus_bits(), 50);
  EXPECT_EQ(large.primes(), 2);
  EXPECT_EQ(large.modulus_bits(), 82);
  EXPECT_EQ(ModulusPrimes(small)->size(), 1u);
  const std::vector<uint64_t> primes = *ModulusPrimes(large);
  ASSERT_EQ(primes.size(), 2u);
  for (const uint64_t q : primes) {
    EXPECT_EQ(q >> 40, 1u);
    EXPECT_EQ(q % (2 * 8192), 1u);
  }
}

// Parties of two versions add up what the other one encrypted: parameters that are alike have the
// fingerprint that they always had.
TEST(ParametersTest, FingerprintsStayWhatTheyAre) {
  const auto fingerprint = [](const CkksParameters& p) {
    const Fingerprint bytes = *FingerprintOf(p);
    return std::vector<int>(bytes.begin(), bytes.end());
  };
  EXPECT_EQ(fingerprint({}), (std::vector<int>{229, 226, 182, 253, 207, 99, 220, 91, 45, 165, 99,
                                               60, 178, 177, 217, 243}));
  EXPECT_EQ(
      fingerprint({.packing = Packing::kSlots}),
      (std::vector<int>{106, 9, 208, 51, 252, 75, 186, 187, 155, 62, 201, 94, 38, 132, 223, 162}));
}

TEST(ParametersTest, ASumHasTwoBitsOfRoom) {
  for (const int bits : {3, 8, 20}) {
    EXPECT_EQ(CkksParameters{.sum_bits = bits}.sum_limit(), double(1 << bits) / 4);
  }
}

TEST(ParametersTest, DifferentParametersHaveDifferentFingerprints) {
  std::set<Fingerprint> seen;
  for (const CkksParameters& p : std::initializer_list<CkksParameters>{
           {},
           {.log2_degree = 14},
           {.log2_scale = 39},
           {.log2_scale = 39, .sum_bits = 21},
           {.security = 192},
           {.packing = Packing::kSlots},
       }) {
    EXPECT_TRUE(seen.insert(*FingerprintOf(p)).second) << p.ToString();
  }
}

}  // namespace
}  // namespace dtnn::ckks
