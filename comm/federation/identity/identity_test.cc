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
      "0e"              // version of the frames
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
            "8ef3ddefd2719604759a73d7a9cfcbac444de26a4b70626f927878c5ce3c1360"
            "b4caef97b9abb2a6d4429dbc3d6944ba701f8d133868ac81c8f5c283ace90c0d");
  EXPECT_EQ(Hex(Must(SignEncounter(Side::kAggregator, Meeting(), kSecret))),
            "8cea9cebc21b625756c1370ff54d1dbc2588e3fec8dc36cfcbc576dbac1b6c29"
            "010f84b4521f42a1846e8bc755fb7b4fa70bed575ab41999e4d738edce76e00c");
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
