#include "comm/secrets/ckks/threshold.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/text/str_cat.h"

namespace dtnn::ckks {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<const CkksContext> Context(const CkksParameters& parameters) {
  return Must(CkksContext::Create(parameters));
}

// Some clients with a joint key.
struct Group {
  Group(const CkksContext& context, const ThresholdParameters& threshold, uint8_t seed_byte = 7) {
    seed.fill(seed_byte);
    for (int i = 0; i < threshold.clients; ++i) {
      clients.push_back(Must(ThresholdClient::Create(context, threshold, i, seed)));
      commitments.push_back(clients.back().commitment());
      shares.push_back(clients.back().share());
    }
    key = Must(JoinKeyShares(context, seed, commitments, shares));
  }

  Seed seed{};
  std::vector<ThresholdClient> clients;
  std::vector<Hash> commitments;
  std::vector<std::vector<uint8_t>> shares;
  PublicKey key;
};

std::vector<double> Random(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(count);
  for (double& x : values) x = uniform(random);
  return values;
}

// The sum of every client's random numbers, encrypted; and in the clear.
Ciphertext SumOf(const CkksContext& context, const Group& group, std::vector<double>& wanted) {
  Ciphertext sum;
  wanted.assign(context.parameters().values(), 0);
  for (size_t i = 0; i < group.clients.size(); ++i) {
    const std::vector<double> values = Random(wanted.size(), i);
    const Ciphertext x = Must(Encrypt(context, group.key, std::span<const double>(values), 16));
    i == 0 ? void(sum = x) : Must(Add(context, sum, x));
    for (size_t k = 0; k < wanted.size(); ++k) wanted[k] += values[k];
  }
  return sum;
}

std::vector<std::vector<uint8_t>> Parts(Group& group, const Ciphertext& sum, ChunkId of) {
  std::vector<std::vector<uint8_t>> parts;
  for (ThresholdClient& client : group.clients) parts.push_back(Must(client.Decrypt(sum, of)));
  return parts;
}

double Deviation(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / double(a.size()));
}

TEST(ThresholdTest, AllTogetherDecryptTheSumWithThePredictedError) {
  for (const Packing packing : {Packing::kCoefficients, Packing::kSlots}) {
    CkksParameters parameters = DefaultThresholdCkks();
    parameters.packing = packing;
    const auto context = Context(parameters);
    for (const int clients : {2, 3, 5}) {
      const ThresholdParameters threshold{.clients = clients, .decryptions = 1000};
      Group group(*context, threshold);
      std::vector<double> wanted;
      const Ciphertext sum = SumOf(*context, group, wanted);
      std::vector<double> values(wanted.size());
      Must(CombineDecryptions(*context, sum, clients, Parts(group, sum, {}), std::span(values)));
      const double predicted = ThresholdDeviation(parameters, threshold);
      EXPECT_NEAR(Deviation(values, wanted), predicted, 0.1 * predicted) << clients;
      // The mean is good enough.
      EXPECT_LT(6 * predicted / clients, threshold.tolerance);
    }
  }
}

// Without one client's part there is only noise that hides everything: the secret of no client, and
// of no group without one, decrypts.
TEST(ThresholdTest, NoClientAndNoGroupThatLacksOneCanDecrypt) {
  const auto context = Context(DefaultThresholdCkks());
  const ThresholdParameters threshold{.clients = 3};
  Group group(*context, threshold);
  std::vector<double> wanted;
  const Ciphertext sum = SumOf(*context, group, wanted);
  const std::vector<std::vector<uint8_t>> parts = Parts(group, sum, {});
  std::vector<double> values(wanted.size());
  EXPECT_THAT(
      std::string(CombineDecryptions(*context, sum, 3, std::span(parts).first(2), std::span(values))
                      .message()),
      HasSubstr("parts of 2 of 3 clients: threshold keys need all of them"));
  // Without the check, with every subset but the whole: the parts of the others are not there.
  for (unsigned subset = 0; subset < 7; ++subset) {
    Ciphertext partly = sum;
    std::vector<std::vector<uint8_t>> chosen;
    for (uint32_t i = 0; i < 3; ++i) {
      if (!(subset >> i & 1)) continue;
      // Numbered anew, as if there were no others.
      std::vector<uint8_t> part = parts[i];
      part[22] = uint8_t(chosen.size());
      chosen.push_back(std::move(part));
    }
    EXPECT_EQ(
        CombineDecryptions(*context, partly, int(chosen.size()), chosen, std::span(values)).code(),
        absl::StatusCode::kDataLoss)
        << subset;
  }
}

// A part is more than c1 s_i: the same question gets answers that differ by the noise, in the
// coefficients and with the deviation that it should have.
TEST(ThresholdTest, PartsAreFlooded) {
  const auto context = Context(DefaultThresholdCkks());
  const ThresholdParameters threshold{.clients = 2};
  Group group(*context, threshold);
  std::vector<double> wanted;
  const Ciphertext sum = SumOf(*context, group, wanted);
  std::vector<std::vector<double>> decrypted;
  for (const uint64_t round : {1, 2}) {
    std::vector<double>& values = decrypted.emplace_back(wanted.size());
    Must(CombineDecryptions(*context, sum, 2, Parts(group, sum, {.round = round}),
                            std::span(values)));
  }
  // Two decryptions, two clients each.
  const double predicted =
      2 * FloodingDeviation(context->parameters(), threshold) / context->parameters().scale();
  EXPECT_NEAR(Deviation(decrypted[0], decrypted[1]), predicted, 0.1 * predicted);
}

// sqrt(12 t) 2^(s/2) E by hand: E^2 = n (2 e + 2 n 10.5 (2/3) 4), where e = 10.5 + 1/12 is the
// variance of an encryption's own error and its rounding, n = 8192, t = 10, s = 30.
TEST(ThresholdTest, TheNoiseIsThatOfTheProof) {
  const ThresholdParameters threshold = {.clients = 2, .decryptions = 10, .flooding_bits = 30};
  EXPECT_NEAR(FloodingDeviation(DefaultThresholdCkks(), threshold), 2.20057e10, 1e-5 * 2.2e10);
}

TEST(ThresholdTest, AChunkIsDecryptedOnce) {
  const auto context = Context(DefaultThresholdCkks());
  const ThresholdParameters threshold{.clients = 2, .decryptions = 3};
  Group group(*context, threshold);
  std::vector<double> wanted;
  const Ciphertext sum = SumOf(*context, group, wanted);
  ThresholdClient& client = group.clients[0];
  EXPECT_TRUE(client.Decrypt(sum, {.round = 4, .chunk = 0}).ok());
  EXPECT_TRUE(client.Decrypt(sum, {.round = 4, .chunk = 1}).ok());
  EXPECT_EQ(client.Decrypt(sum, {.round = 4, .chunk = 0}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(client.Decrypt(sum, {.round = 3, .chunk = 5}).ok());
  EXPECT_TRUE(client.Decrypt(sum, {.round = 5, .chunk = 0}).ok());
  const absl::Status status = client.Decrypt(sum, {.round = 5, .chunk = 1}).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("new keys are needed"));
}

TEST(ThresholdTest, SumsOfMoreThanThereAreAreRefused) {
  const auto context = Context(DefaultThresholdCkks());
  Group group(*context, {.clients = 2});
  std::vector<double> wanted;
  Ciphertext sum = SumOf(*context, group, wanted);
  sum.summands = 3;
  EXPECT_FALSE(group.clients[0].Decrypt(sum, {}).ok());
  EXPECT_FALSE(group.clients[0].Decrypt(Ciphertext{}, {}).ok());
}

// The attack that commitments prevent: the last one chooses its share so that the others' cancel.
TEST(ThresholdTest, TheLastClientCannotChooseTheJointKey) {
  const auto context = Context(DefaultThresholdCkks());
  const ThresholdParameters threshold{.clients = 2};
  Group group(*context, threshold), other(*context, threshold);
  std::vector<std::vector<uint8_t>> shares = group.shares;
  shares[1] = other.shares[1];
  const absl::Status status =
      JoinKeyShares(*context, group.seed, group.commitments, shares).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(status.message()), HasSubstr("client 1 is not the one"));
  // In the other order, or for another seed, they do not fit either.
  std::swap(shares[0], shares[1] = group.shares[1]);
  EXPECT_FALSE(JoinKeyShares(*context, group.seed, group.commitments, shares).ok());
  Seed seed = group.seed;
  seed[0] ^= 1;
  EXPECT_FALSE(JoinKeyShares(*context, seed, group.commitments, group.shares).ok());
  // Swapped with their commitments: they say whose they are.
  EXPECT_FALSE(JoinKeyShares(*context, group.seed,
                             std::vector{group.commitments[1], group.commitments[0]},
                             std::vector{group.shares[1], group.shares[0]})
                   .ok());
  EXPECT_FALSE(
      JoinKeyShares(*context, group.seed, group.commitments, std::span(group.shares).first(1))
          .ok());
}

TEST(ThresholdTest, PartsOfAnotherGroupOrClientAreNoUse) {
  const auto context = Context(DefaultThresholdCkks());
  const ThresholdParameters threshold{.clients = 2};
  Group group(*context, threshold), other(*context, threshold);
  std::vector<double> wanted;
  const Ciphertext sum = SumOf(*context, group, wanted);
  std::vector<std::vector<uint8_t>> parts = Parts(group, sum, {});
  std::vector<double> values(wanted.size());
  std::swap(parts[0], parts[1]);
  EXPECT_FALSE(CombineDecryptions(*context, sum, 2, parts, std::span(values)).ok());
  parts = Parts(other, sum, {});
  EXPECT_THAT(std::string(CombineDecryptions(*context, sum, 2, parts, std::span(values)).message()),
              HasSubstr("a part of the decryption, is a wrong one"));
}

// However few numbers are asked for.
TEST(ThresholdTest, ThePartOfAnotherSumIsNoticed) {
  const auto context = Context(DefaultThresholdCkks());
  Group group(*context, {.clients = 2});
  std::vector<double> wanted;
  const Ciphertext sum = SumOf(*context, group, wanted), other = SumOf(*context, group, wanted);
  std::vector<std::vector<uint8_t>> parts = {Must(group.clients[0].Decrypt(sum, {.round = 1})),
                                             Must(group.clients[1].Decrypt(other, {.round = 1}))};
  std::vector<double> value(1);
  EXPECT_EQ(CombineDecryptions(*context, sum, 2, parts, std::span(value)).code(),
            absl::StatusCode::kDataLoss);
  parts[1] = Must(group.clients[1].Decrypt(sum, {.round = 2}));
  EXPECT_EQ(CombineDecryptions(*context, sum, 2, parts, std::span(value)), absl::OkStatus());
}

TEST(ThresholdTest, NoMoreNumbersAreReadThanACiphertextHolds) {
  const auto context = Context(DefaultThresholdCkks());
  Group group(*context, {.clients = 2});
  std::vector<double> wanted;
  const Ciphertext sum = SumOf(*context, group, wanted);
  const std::vector<std::vector<uint8_t>> parts = Parts(group, sum, {});
  const size_t most = context->parameters().values();
  const auto error = [&](const Ciphertext& of, size_t numbers) {
    std::vector<double> values(numbers);
    return std::string(CombineDecryptions(*context, of, 2, parts, std::span(values)).message());
  };
  EXPECT_EQ(error(sum, most), "");
  EXPECT_EQ(error(sum, most + 1),
            StrCat("cannot decrypt ", most + 1, " numbers of a ciphertext with ", context->size(),
                   ", the parameters have ", context->size()));
  EXPECT_EQ(error(Ciphertext{}, 1), StrCat("cannot decrypt 1 numbers of a ciphertext with 0, the "
                                           "parameters have ",
                                           context->size()));
}

// A scale of 2^40 cannot give 1e-4 under flooding; the message says what it would give.
TEST(ThresholdTest, SmallScalesAreRefusedWithTheirError) {
  const ThresholdParameters threshold{.clients = 4, .decryptions = 186'100};
  EXPECT_EQ(absl::OkStatus(), ValidateThreshold(DefaultThresholdCkks(), threshold));
  const absl::Status status = ValidateThreshold({.log2_scale = 40}, threshold);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("means wrong by up to"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("use scale 2^58"));
  EXPECT_EQ(absl::OkStatus(), ValidateThreshold({.log2_scale = 58}, threshold));
  EXPECT_FALSE(ValidateThreshold({.log2_scale = 57}, threshold).ok());
  // A few decryptions with one key need less.
  EXPECT_EQ(absl::OkStatus(),
            ValidateThreshold({.log2_scale = 52}, {.clients = 4, .decryptions = 40}));
}

TEST(ThresholdTest, TheDefaultIsSecureAtAllLevels) {
  EXPECT_EQ(DefaultThresholdCkks().modulus_bits(), 82) << "as docs/security.md says";
  for (const int level : {128, 192, 256}) {
    CkksParameters ckks = DefaultThresholdCkks();
    ckks.security = level;
    EXPECT_EQ(absl::OkStatus(), Validate(ckks));
  }
}

TEST(ThresholdTest, NonsenseIsRefused) {
  const CkksParameters ckks = DefaultThresholdCkks();
  EXPECT_FALSE(ValidateThreshold(ckks, {.clients = 1}).ok());
  EXPECT_FALSE(ValidateThreshold(ckks, {.decryptions = 0}).ok());
  EXPECT_FALSE(ValidateThreshold(ckks, {.flooding_bits = 9}).ok());
  EXPECT_FALSE(ValidateThreshold(ckks, {.tolerance = 0}).ok());
  EXPECT_FALSE(ValidateThreshold(ckks, {.tolerance = NAN}).ok());
  EXPECT_FALSE(
      ValidateThreshold(ckks, {.decryptions = int64_t{1} << 50, .flooding_bits = 80}).ok());
  EXPECT_FALSE(ValidateThreshold({.log2_degree = 10}, {}).ok());
  // At the limits another check may refuse, but not these.
  const auto error = [&](const ThresholdParameters& threshold) {
    return std::string(ValidateThreshold(ckks, threshold).message());
  };
  EXPECT_THAT(error({.clients = 65536}), Not(HasSubstr("needs 2 to")));
  EXPECT_THAT(error({.clients = 65537}),
              HasSubstr("threshold keys of 65537 clients: needs 2 to 65536"));
  EXPECT_THAT(error({.decryptions = int64_t{1} << 50}), Not(HasSubstr("needs 1 to")));
  EXPECT_THAT(error({.decryptions = (int64_t{1} << 50) + 1}),
              HasSubstr("1125899906842625 decryptions: needs 1 to 2^50"));
  EXPECT_THAT(error({.flooding_bits = 10}), Not(HasSubstr("use 10 to 80")));
  EXPECT_THAT(error({.decryptions = 1, .flooding_bits = 80}), Not(HasSubstr("use 10 to 80")));
  EXPECT_THAT(error({.decryptions = 1, .flooding_bits = 81}), HasSubstr("use 10 to 80"));
  EXPECT_EQ(error({.tolerance = 1}), "");
  EXPECT_THAT(error({.tolerance = 1.001}), HasSubstr("must be in (0, 1]"));
  const auto context = Context(ckks);
  EXPECT_FALSE(ThresholdClient::Create(*context, {.clients = 2}, 2, {}).ok());
  EXPECT_FALSE(ThresholdClient::Create(*context, {.clients = 2}, -1, {}).ok());
}

}  // namespace
}  // namespace dtnn::ckks
