#include "comm/secrets/ckks/linear_tag.h"

#include <memory>
#include <string>
#include <vector>

#include "comm/secrets/ckks/samplers.h"
#include "comm/secrets/ckks/threshold.h"
#include "comm/secrets/crypto/random_secret.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::ckks {
namespace {

constexpr int kClients = 3;
constexpr uint32_t kChunk = 7;

class LinearTagTest : public ::testing::Test {
 protected:
  LinearTagTest() {
    ChaCha20Stream stream = Must(ChaCha20Stream::Random());
    sum_.resize(context_->size());
    for (int client = 0; client < kClients; ++client) {
      std::vector<uint64_t>& c1 = all_.emplace_back(context_->size());
      const size_t n = context_->parameters().degree();
      for (size_t k = 0; k < context_->primes(); ++k) {
        SampleUniform(stream, context_->prime(k), std::span(c1).subspan(k * n, n));
      }
      context_->AddTo(sum_, c1);
      tags_.push_back(Must(tagger_.TagOf(c1, client, kChunk)));
    }
    tag_ = Sum(tags_);
  }

  LinearTag Sum(const std::vector<LinearTag>& tags) const {
    LinearTag sum(tags[0].size());
    for (const LinearTag& tag : tags) AddTo(*context_, sum, tag);
    return sum;
  }
  bool Accepts(const std::vector<uint64_t>& c1, const LinearTag& tag, int clients = kClients,
               uint32_t chunk = kChunk) const {
    const absl::Status status = tagger_.CheckSum(c1, clients, chunk, tag);
    EXPECT_TRUE(status.ok() || absl::IsUnauthenticated(status)) << status;
    return status.ok();
  }

  const std::shared_ptr<const CkksContext> context_ =
      Must(CkksContext::Create(DefaultThresholdCkks()));
  const LinearTagger tagger_ = Must(LinearTagger::Create(*context_, Must(RandomSecret())));
  std::vector<std::vector<uint64_t>> all_;  // by client
  std::vector<LinearTag> tags_;
  std::vector<uint64_t> sum_;
  LinearTag tag_;
};

TEST_F(LinearTagTest, TheSumOfTheTagsIsTheTagOfTheSum) {
  EXPECT_TRUE(Accepts(sum_, tag_));
  EXPECT_EQ(Must(LinearTagFromBytes(*context_, ToBytes(tag_))), tag_);
}

// One client's ciphertext, whose decryption is its update.
TEST_F(LinearTagTest, ACiphertextAloneIsNotTheSum) {
  EXPECT_FALSE(Accepts(all_[0], tags_[0]));
  EXPECT_FALSE(Accepts(all_[0], tag_));
  std::vector<uint64_t> three = all_[0];
  for (int i = 1; i < kClients; ++i) context_->AddTo(three, all_[0]);
  EXPECT_FALSE(Accepts(three, Sum({tags_[0], tags_[0], tags_[0]}))) << "one of them three times";
  std::vector<uint64_t> two = all_[0];
  context_->AddTo(two, all_[1]);
  EXPECT_FALSE(Accepts(two, Sum({tags_[0], tags_[1]}))) << "without the last";
}

// A constant, which would show the key's part; and what differs from the sum in one number.
TEST_F(LinearTagTest, NothingElseIsTheSum) {
  EXPECT_FALSE(
      Accepts(std::vector<uint64_t>(context_->size(), context_->prime(0).value() / 4), tag_));
  for (const size_t at : {size_t{0}, context_->size() - 1}) {
    std::vector<uint64_t> other = sum_;
    other[at] = other[at] == 0 ? 1 : other[at] - 1;
    EXPECT_FALSE(Accepts(other, tag_)) << at;
  }
  for (size_t i = 0; i < tag_.size(); ++i) {
    LinearTag other = tag_;
    other[i] = other[i] == 0 ? 1 : other[i] - 1;
    EXPECT_FALSE(Accepts(sum_, other)) << i;
  }
}

// The chance of a guess, 1 / q^2, is less than 2^-80.
TEST_F(LinearTagTest, HashesAreTwoModuloPrimesOfFortyOneBits) {
  ASSERT_EQ(context_->primes(), 2u);
  for (size_t k = 0; k < 2; ++k) EXPECT_GT(context_->prime(k).value(), uint64_t{1} << 40);
  EXPECT_EQ(tag_.size(), 4u);
  // What differs modulo one prime alone is told apart by the two hashes modulo it.
  for (size_t k = 0; k < 2; ++k) {
    std::vector<uint64_t> other = sum_;
    uint64_t& number = other[k * context_->parameters().degree()];
    number = number == 0 ? 1 : number - 1;
    const LinearTag tag = Must(tagger_.TagOf(other, 0, kChunk));
    const LinearTag before = Must(tagger_.TagOf(sum_, 0, kChunk));
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(tag[i] != before[i], i / 2 == k) << k << " " << i;
  }
}

TEST_F(LinearTagTest, AnotherChunkAndAnotherSecretHaveOtherTags) {
  EXPECT_FALSE(Accepts(sum_, tag_, kClients, kChunk + 1));
  EXPECT_NE(Must(tagger_.TagOf(all_[0], 0, 8)), tags_[0]);
  EXPECT_NE(Must(tagger_.TagOf(all_[0], 1, kChunk)), tags_[0]);
  const LinearTagger other = Must(LinearTagger::Create(*context_, Must(RandomSecret())));
  EXPECT_FALSE(other.CheckSum(sum_, kClients, kChunk, tag_).ok());
}

TEST_F(LinearTagTest, BytesThatAreNoTagAreRefused) {
  std::vector<uint8_t> bytes = ToBytes(tag_);
  EXPECT_EQ(bytes.size(), LinearTagBytes(*context_));
  bytes.push_back(0);
  EXPECT_FALSE(LinearTagFromBytes(*context_, bytes).ok());
  bytes.resize(bytes.size() - 2);
  EXPECT_FALSE(LinearTagFromBytes(*context_, bytes).ok());
  bytes.assign(LinearTagBytes(*context_), 0xff);
  EXPECT_FALSE(LinearTagFromBytes(*context_, bytes).ok());
  // Each number is below its own prime.
  for (size_t i = 0; i < tag_.size(); ++i) {
    LinearTag tag = tag_;
    const uint64_t prime = context_->prime(i / (tag_.size() / context_->primes())).value();
    tag[i] = prime - 1;
    EXPECT_TRUE(LinearTagFromBytes(*context_, ToBytes(tag)).ok()) << i;
    tag[i] = prime;
    EXPECT_EQ(LinearTagFromBytes(*context_, ToBytes(tag)).status().code(),
              absl::StatusCode::kDataLoss)
        << i;
  }
}

}  // namespace
}  // namespace dtnn::ckks
