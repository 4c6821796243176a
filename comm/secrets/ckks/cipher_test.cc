#include "comm/secrets/ckks/cipher.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "comm/secrets/ckks/message.h"
#include "comm/secrets/ckks/noise.h"
#include "comm/secrets/crypto/random_secret.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::ckks {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const CkksContext> Context(const CkksParameters& parameters) {
  return Must(CkksContext::Create(parameters));
}

SecretKey NewKey(const CkksContext& context) {
  return Must(SecretKey::FromSeed(context, Must(RandomSecret())));
}

std::vector<double> Random(size_t count, double limit, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-limit, limit);
  std::vector<double> values(count);
  for (double& x : values) x = uniform(random);
  return values;
}

struct Errors {
  double deviation = 0, largest = 0;
};

Errors Compare(std::span<const double> a, std::span<const double> b) {
  Errors errors;
  for (size_t i = 0; i < a.size(); ++i) {
    const double error = a[i] - b[i];
    errors.deviation += error * error / double(a.size());
    errors.largest = std::max(errors.largest, std::abs(error));
  }
  errors.deviation = std::sqrt(errors.deviation);
  return errors;
}

// The errors of sums of 1 to 64 clients have the predicted deviation, and no longer tail than the
// normal distribution; but slots under a public key (noise.h).
void ExpectPredictedErrors(const CkksParameters& parameters, EncryptedWith with) {
  const auto context = Context(parameters);
  const SecretKey key = NewKey(*context);
  const PublicKey public_key = Must(MakePublicKey(*context, key));
  constexpr int kClients = 64;
  const double limit = parameters.sum_limit() / kClients;
  Ciphertext sum;
  std::vector<double> wanted(parameters.values());
  for (int client = 0; client < kClients; ++client) {
    const std::vector<double> values = Random(wanted.size(), 1, uint64_t(client));
    const std::span<const double> view(values);
    const Ciphertext x = with == EncryptedWith::kPublicKey
                             ? Must(Encrypt(*context, public_key, view, limit))
                             : Must(Expand(*context, Must(Encrypt(*context, key, view, limit))));
    if (client == 0) {
      sum = x;
    } else {
      Must(Add(*context, sum, x));
    }
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] += values[i];
    const int summands = client + 1;
    if ((summands & (summands - 1)) != 0) continue;
    std::vector<double> decrypted(wanted.size());
    Must(Decrypt(*context, key, sum, std::span(decrypted)));
    const Errors errors = Compare(decrypted, wanted);
    const double predicted =
        ValueDeviation(parameters, CoefficientDeviation(parameters, with, summands));
    // With two primes the scale is so large that doubles of the test round, too.
    const double rounding = 64 * 0x1p-52;
    EXPECT_LT(errors.deviation, 1.15 * predicted + rounding)
        << parameters.ToString() << ", " << summands;
    if (predicted > rounding) {
      EXPECT_GT(errors.deviation, 0.85 * predicted) << parameters.ToString() << ", " << summands;
    }
    const bool products =
        parameters.packing == Packing::kSlots && with == EncryptedWith::kPublicKey;
    EXPECT_LT(errors.largest, (products ? 15 : 6.5) * predicted + rounding);
    EXPECT_EQ(sum.summands, uint32_t(summands));
  }
}

TEST(CipherTest, ErrorsOfSumsAreThoseThatArePredicted) {
  for (const Packing packing : {Packing::kCoefficients, Packing::kSlots}) {
    for (const EncryptedWith with : {EncryptedWith::kSecretKey, EncryptedWith::kPublicKey}) {
      ExpectPredictedErrors({.packing = packing}, with);
      ExpectPredictedErrors({.log2_degree = 12, .log2_scale = 30, .packing = packing}, with);
      ExpectPredictedErrors({.log2_degree = 12, .log2_scale = 45, .packing = packing}, with);
    }
  }
}

TEST(CipherTest, AddingNumbersThatAreNotEncrypted) {
  const auto context = Context({});
  const SecretKey key = NewKey(*context);
  const std::vector<double> a = Random(100, 1, 1), b = Random(100, 1, 2);
  Ciphertext x = Must(Expand(*context, Must(Encrypt(*context, key, std::span(a), 2))));
  Must(AddPlain(*context, x, std::span<const double>(b), 2));
  std::vector<double> sum(100);
  Must(Decrypt(*context, key, x, std::span(sum)));
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], a[i] + b[i], 1e-9);
}

TEST(CipherTest, SeededAndExpandedOnesAddUp) {
  const auto context = Context({});
  const SecretKey key = NewKey(*context);
  const std::vector<float> a = {1, 2, 3};
  const SeededCiphertext x = Must(Encrypt(*context, key, std::span(a), 10));
  Ciphertext sum = Must(Expand(*context, x));
  Must(Add(*context, sum, x));
  Must(Add(*context, sum, sum));
  std::vector<float> values(3);
  Must(Decrypt(*context, key, sum, std::span(values)));
  EXPECT_THAT(values, ::testing::Pointwise(::testing::FloatNear(1e-6f), {4.f, 8.f, 12.f}));
  EXPECT_EQ(sum.summands, 4u);
}

TEST(CipherTest, SummandsAreCountedAsFarAsTheirNumberGoes) {
  const auto context = Context({});
  const SecretKey key = NewKey(*context);
  const std::vector<float> a = {1, 2, 3};
  const Ciphertext one = Must(Expand(*context, Must(Encrypt(*context, key, std::span(a), 10))));
  Ciphertext sum = one, more = one;
  sum.summands = 0xfffffff0u;
  more.summands = 15;
  Must(Add(*context, sum, more));
  EXPECT_EQ(sum.summands, 0xffffffffu);
  const absl::Status refused = Add(*context, sum, one);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.message(),
            "cannot add ciphertexts: 4294967295 and 1 summands are too many to be true");
  EXPECT_EQ(sum.summands, 0xffffffffu);
}

TEST(CipherTest, AnotherKeyDecryptsNothing) {
  const auto context = Context({});
  const SecretKey key = NewKey(*context), other = NewKey(*context);
  const std::vector<double> a = Random(1, 1, 1);  // however few numbers there are
  const Ciphertext x = Must(Expand(*context, Must(Encrypt(*context, key, std::span(a), 2))));
  std::vector<double> values(a.size());
  EXPECT_EQ(Decrypt(*context, other, x, std::span(values)).code(), absl::StatusCode::kDataLoss);
}

TEST(CipherTest, ASeedIsAKey) {
  const auto context = Context({});
  const Secret seed = Must(RandomSecret());
  const SecretKey mine = Must(SecretKey::FromSeed(*context, seed));
  const SecretKey yours = Must(SecretKey::FromSeed(*context, seed));
  const std::vector<double> a = Random(10, 1, 1);
  const Ciphertext x = Must(Expand(*context, Must(Encrypt(*context, mine, std::span(a), 2))));
  std::vector<double> values(a.size());
  Must(Decrypt(*context, yours, x, std::span(values)));
  EXPECT_LT(Compare(values, a).largest, 1e-9);
}

TEST(CipherTest, TheSameNumbersNeverLookTheSame) {
  const auto context = Context({});
  const SecretKey key = NewKey(*context);
  const PublicKey public_key = Must(MakePublicKey(*context, key));
  const std::vector<float> zeros(10);
  const SeededCiphertext a = Must(Encrypt(*context, key, std::span(zeros), 1));
  const SeededCiphertext b = Must(Encrypt(*context, key, std::span(zeros), 1));
  EXPECT_NE(a.seed, b.seed);
  EXPECT_NE(a.c0, b.c0);
  const Ciphertext c = Must(Encrypt(*context, public_key, std::span(zeros), 1));
  const Ciphertext d = Must(Encrypt(*context, public_key, std::span(zeros), 1));
  EXPECT_NE(c.c0, d.c0);
  EXPECT_NE(c.c1, d.c1);
}

// Encryptions of zeros and of ones look alike: their numbers fill 256 cells evenly.
TEST(CipherTest, CiphertextsLookUniform) {
  const auto context = Context({});
  const SecretKey key = NewKey(*context);
  const PublicKey public_key = Must(MakePublicKey(*context, key));
  for (const float value : {0.f, 1.f}) {
    std::vector<double> cells(256);
    double total = 0;
    for (int round = 0; round < 4; ++round) {
      const std::vector<float> values(8192, value);
      const Ciphertext x = Must(Encrypt(*context, public_key, std::span(values), 2));
      const SeededCiphertext y = Must(Encrypt(*context, key, std::span(values), 2));
      for (const auto* half : {&x.c0, &x.c1, &y.c0}) {
        for (const uint64_t r : *half) cells[r >> 52] += 1;
        total += double(half->size());
      }
    }
    double chi = 0;
    for (const double cell : cells)
      chi += (cell - total / 256) * (cell - total / 256) * 256 / total;
    EXPECT_NEAR(chi, 255, 6 * std::sqrt(2 * 255.0));
  }
}

TEST(CipherTest, BytesThereAndBack) {
  for (const int scale : {33, 40, 47, 61}) {
    const auto context = Context({.log2_scale = scale});
    const SecretKey key = NewKey(*context);
    const std::vector<double> a = Random(context->parameters().values(), 1, 5);
    const SeededCiphertext x = Must(Encrypt(*context, key, std::span(a), 2));
    const std::vector<uint8_t> bytes = ToBytes(*context, x);
    EXPECT_EQ(bytes.size(), MessageBytes(*context, MessageKind::kSeededCiphertext));
    const SeededCiphertext y = Must(SeededCiphertextFromBytes(*context, bytes));
    EXPECT_EQ(y.c0, x.c0);
    EXPECT_EQ(y.seed, x.seed);

    Ciphertext sum = Must(Expand(*context, x));
    Must(Add(*context, sum, sum));
    const Ciphertext z = Must(CiphertextFromBytes(*context, ToBytes(*context, sum)));
    EXPECT_EQ(z.c0, sum.c0);
    EXPECT_EQ(z.c1, sum.c1);
    EXPECT_EQ(z.summands, 2u);

    const PublicKey public_key = Must(MakePublicKey(*context, key));
    const PublicKey read = Must(PublicKeyFromBytes(*context, ToBytes(*context, public_key)));
    const Ciphertext w = Must(Encrypt(*context, read, std::span(a), 2));
    std::vector<double> values(a.size());
    Must(Decrypt(*context, key, w, std::span(values)));
    EXPECT_LT(Compare(values, a).largest, 1e-4);
  }
}

// 8192 float32 are 32 KiB.
TEST(CipherTest, HowManyBytesACiphertextHas) {
  const auto context = Context({});
  EXPECT_EQ(MessageBytes(*context, MessageKind::kSeededCiphertext), 26u + 32 + 61440);
  EXPECT_EQ(MessageBytes(*context, MessageKind::kCiphertext), 26u + 2 * 61440);
}

TEST(CipherTest, OtherParametersAreFoundOut) {
  const auto mine = Context({}), other = Context({.log2_scale = 39, .sum_bits = 21});
  const SecretKey key = NewKey(*other);
  const std::vector<float> a = {1};
  const std::vector<uint8_t> bytes = ToBytes(*other, Must(Encrypt(*other, key, std::span(a), 2)));
  const absl::Status status = SeededCiphertextFromBytes(*mine, bytes).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("other parameters than degree 2^13"));
}

TEST(CipherTest, DamagedBytesAreRefused) {
  const auto context = Context({.log2_degree = 3, .security = 0});
  const SecretKey key = NewKey(*context);
  const std::vector<float> a = {1};
  const Ciphertext x = Must(Expand(*context, Must(Encrypt(*context, key, std::span(a), 2))));
  const std::vector<uint8_t> good = ToBytes(*context, x);
  Must(CiphertextFromBytes(*context, good).status());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(CiphertextFromBytes(*context, std::span(good).first(size)).ok()) << size;
  }
  std::vector<uint8_t> longer = good;
  longer.push_back(0);
  EXPECT_FALSE(CiphertextFromBytes(*context, longer).ok());
  // Every bit of the header up to the number of summands.
  for (size_t bit = 0; bit < 8 * 22; ++bit) {
    std::vector<uint8_t> bad = good;
    bad[bit / 8] ^= uint8_t(1 << bit % 8);
    EXPECT_FALSE(CiphertextFromBytes(*context, bad).ok()) << bit;
  }
  // Numbers that are not below the prime, which begins with ones.
  std::vector<uint8_t> bad = good;
  std::fill(bad.begin() + 26, bad.begin() + 34, 0xff);
  EXPECT_THAT(std::string(CiphertextFromBytes(*context, bad).status().message()),
              HasSubstr("not below its prime"));
  // Not encrypted at all.
  bad = good;
  std::fill(bad.begin() + std::ptrdiff_t(26 + (good.size() - 26) / 2), bad.end(), 0);
  EXPECT_THAT(std::string(CiphertextFromBytes(*context, bad).status().message()),
              HasSubstr("not encrypted"));
  // A seeded one is none.
  EXPECT_FALSE(SeededCiphertextFromBytes(*context, good).ok());
}

TEST(CipherTest, CiphertextsOfAnotherSizeAreRefused) {
  const auto context = Context({.log2_degree = 3, .security = 0});
  const SecretKey key = NewKey(*context);
  const std::vector<float> a = {1};
  Ciphertext x = Must(Expand(*context, Must(Encrypt(*context, key, std::span(a), 2))));
  Ciphertext empty;
  std::vector<float> values(1), many(9);
  EXPECT_FALSE(Add(*context, x, empty).ok());
  EXPECT_FALSE(Add(*context, empty, x).ok());
  EXPECT_FALSE(Decrypt(*context, key, empty, std::span(values)).ok());
  EXPECT_FALSE(Decrypt(*context, key, x, std::span(many)).ok());
  x.summands = 0xffffffff;
  EXPECT_FALSE(Add(*context, x, x).ok());
}

}  // namespace
}  // namespace dtnn::ckks
