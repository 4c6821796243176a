#include "comm/federation/identity/identity.h"

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;

// Bytes first, first + 1, ...
IdentityNonce Counting(int first) {
  IdentityNonce nonce;
  for (size_t i = 0; i < nonce.size(); ++i) nonce[i] = uint8_t(size_t(first) + i);
  return nonce;
}

const Secret kSecret{Counting(0)};

Encounter Meeting() {
  return {.client = {.name = "north", .nonce = Counting(32)},
          .aggregator_nonce = Counting(64),
          .binding = {0xb1, 0xb2, 0xb3}};
}

std::string Hex(std::span<const uint8_t> bytes) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Written down by hand; the signatures are those of `openssl pkeyutl -sign -rawin` over these
// bytes.
TEST(IdentityTest, TranscriptsAndSignaturesAreFixed) {
  const std::string rest =
      "0d"              // version of the frames
      "05006e6f727468"  // the name
      "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
      "404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f"
      "0300b1b2b3";
  const std::string client = absl::BytesToHexString("DTNN federation: proof of a client") + rest,
                    aggregator =
                        absl::BytesToHexString("DTNN federation: proof of the aggregator") + rest;
  EXPECT_EQ(Hex(TranscriptOf(Side::kClient, Meeting())), client);
  EXPECT_EQ(Hex(TranscriptOf(Side::kAggregator, Meeting())), aggregator);
  EXPECT_EQ(Hex(Must(SignEncounter(Side::kClient, Meeting(), kSecret))),
            "43c434e30bbdf4b88f16c2f41c6f0c9f0edd72bbd3182aad20f22df984496c05"
            "189a3170d48ff8edd130e91f9959f8d082d57220f837cfcb323453e4aeafd607");
  EXPECT_EQ(Hex(Must(SignEncounter(Side::kAggregator, Meeting(), kSecret))),
            "dd9e81ac2656775ba3aebc3ac01856903fe697803bc0ff6383f76eaf99912775"
            "75404b5b9ea5161281136ed2f4f00b5990d1f5210927da2f722dd4eb8c4c3706");
}

TEST(IdentityTest, AProofIsOfOneEncounterAndOneSide) {
  const Ed25519PublicKey key = Must(Ed25519PublicKeyOf(kSecret));
  const Ed25519Signature proof = Must(SignEncounter(Side::kClient, Meeting(), kSecret));
  const auto proves = [&](Side side, const Encounter& encounter) {
    return Must(ProvesEncounter(side, encounter, key, proof));
  };
  EXPECT_TRUE(proves(Side::kClient, Meeting()));
  EXPECT_FALSE(proves(Side::kAggregator, Meeting()));
  const auto other = [&](auto change) {
    Encounter encounter = Meeting();
    change(encounter);
    EXPECT_FALSE(proves(Side::kClient, encounter));
  };
  other([](Encounter& e) { e.client.name = "north2"; });
  other([](Encounter& e) { e.client.name = ""; });
  other([](Encounter& e) { e.client.nonce = Counting(33); });
  other([](Encounter& e) { e.aggregator_nonce = Counting(65); });
  other([](Encounter& e) { std::swap(e.client.nonce, e.aggregator_nonce); });
  other([](Encounter& e) { e.binding.clear(); });
  other([](Encounter& e) { e.binding.back() ^= 1; });
}

TEST(IdentityTest, MessagesAreReadAsTheyWereWritten) {
  const Introduction introduction = {.name = "north", .nonce = Counting(32)};
  const Bytes written = ToBytes(introduction);
  EXPECT_LE(written.size(), kMostIntroduction);
  const Introduction read = Must(IntroductionFromBytes(written));
  EXPECT_EQ(read.name, "north");
  EXPECT_EQ(read.nonce, introduction.nonce);
  EXPECT_LE(ToBytes(Introduction{.name = std::string(64, 'n')}).size(), kMostIntroduction);
  Challenge challenge = {.nonce = Counting(5), .wants_proof = true};
  EXPECT_FALSE(Must(ChallengeFromBytes(ToBytes(challenge))).signature);
  challenge.wants_proof = false;
  challenge.signature.emplace().fill(7);
  EXPECT_LE(ToBytes(challenge).size(), kMostChallenge);
  const Challenge signed_one = Must(ChallengeFromBytes(ToBytes(challenge)));
  EXPECT_EQ(signed_one.nonce, challenge.nonce);
  EXPECT_FALSE(signed_one.wants_proof);
  EXPECT_EQ(signed_one.signature, challenge.signature);
}

TEST(IdentityTest, WhatNobodyWouldSendIsRefused) {
  const auto error = [](const auto& message) { return std::string(message.status().message()); };
  const Bytes good = ToBytes(Introduction{.name = "north"});
  EXPECT_EQ(error(IntroductionFromBytes(std::span(good).first(20))),
            "introduction: ends too early");
  Bytes more = good;
  more.push_back(0);
  EXPECT_EQ(error(IntroductionFromBytes(more)), "introduction: has 1 bytes too many");
  EXPECT_THAT(error(IntroductionFromBytes(ToBytes(Introduction{.name = "../north"}))),
              HasSubstr("not \"../north\""));
  EXPECT_THAT(error(IntroductionFromBytes(ToBytes(Introduction{}))), HasSubstr("not \"\""));
  Bytes challenge = ToBytes(Challenge{});
  EXPECT_EQ(error(ChallengeFromBytes(std::span(challenge).first(33))), "challenge: ends too early");
  challenge[32] = 2;
  EXPECT_EQ(error(ChallengeFromBytes(challenge)), "challenge: no aggregator sends this one");
  challenge[32] = 0;
  challenge[33] = 1;
  EXPECT_EQ(error(ChallengeFromBytes(challenge)), "challenge: ends too early");
}

}  // namespace
}  // namespace dtnn::federation
