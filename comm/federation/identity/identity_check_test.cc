#include "comm/federation/identity/identity_check.h"

#include <sys/stat.h>

#include <fstream>

#include "comm/federation/identity/identity.h"
#include "comm/secrets/crypto/random_secret.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Bytes kBinding = {1, 2, 3};

class IdentityCheckTest : public ::testing::Test {
 protected:
  AllowedClients ListOf(const std::map<std::string, Secret>& clients) {
    const std::string path = ::testing::TempDir() + "/allowed";
    std::ofstream file(path);
    for (const auto& [name, secret] : clients) {
      file << name << " " << ToText(Must(Ed25519PublicKeyOf(secret))) << "\n";
    }
    file.close();
    chmod(path.c_str(), 0600);
    return Must(AllowedClients::Read(path));
  }

  // What the client that calls itself so learns of its encounter.
  Encounter Introduce(IdentityCheck& check, const std::string& name) {
    Encounter encounter = {.client = {.name = name}, .binding = kBinding};
    Must(FillRandom(encounter.client.nonce));
    const Bytes challenge =
        Must(check.Introduce(ToBytes(encounter.client), kBinding, true, std::nullopt));
    encounter.aggregator_nonce = Must(ChallengeFromBytes(challenge)).nonce;
    return encounter;
  }
  Bytes ProofOf(const Encounter& encounter, const Secret& key) {
    const Ed25519Signature proof = Must(SignEncounter(Side::kClient, encounter, key));
    return {proof.begin(), proof.end()};
  }
  std::string Denied(const IdentityCheck& check, const std::string& name) {
    const ProofResult result = check.Prove(name, list_);
    EXPECT_FALSE(result.key);
    EXPECT_THAT(result.why, Not(IsEmpty()));
    return result.detail;
  }

  const Secret north_ = Must(RandomSecret()), south_ = Must(RandomSecret());
  const AllowedClients list_ = ListOf({{"north", north_}, {"south", south_}});
};

TEST_F(IdentityCheckTest, TheOwnerOfTheKeyIsTheClientOfItsNameOnly) {
  IdentityCheck check;
  const Encounter encounter = Introduce(check, "north");
  EXPECT_EQ(check.name(), "north");
  Must(check.TakeProof(ProofOf(encounter, north_)));
  EXPECT_EQ(check.Prove("north", list_).key, Must(Ed25519PublicKeyOf(north_)));
  EXPECT_EQ(Denied(check, "south"), "it introduces itself as north, and takes part as south");
  const AllowedClients other = ListOf({{"north", south_}});
  EXPECT_THAT(check.Prove("north", other).detail,
              HasSubstr("the list has another key for this name"))
      << "the list of the moment counts";
}

// One that knows the secret must not learn who takes part.
TEST_F(IdentityCheckTest, WhatTheOtherEndIsToldDoesNotTellWhoIsOnTheList) {
  const auto result = [&](const std::string& name, const Secret& key) {
    IdentityCheck check;
    Must(check.TakeProof(ProofOf(Introduce(check, name), key)));
    EXPECT_FALSE(check.Prove(name, list_).key) << name;
    return check.Prove(name, list_);
  };
  const std::string rest =
      ": the list of those that may take part has another key for this name, or no such client, or "
      "another process carries what the two say";
  EXPECT_EQ(result("north", south_).why, "it does not prove that it is north" + rest);
  EXPECT_EQ(result("west", south_).why, "it does not prove that it is west" + rest);
  EXPECT_EQ(result("west", north_).why, "it does not prove that it is west" + rest)
      << "of a key on the list";
  EXPECT_THAT(result("north", south_).detail, HasSubstr("the list has another key for this name"));
  EXPECT_EQ(result("west", south_).detail,
            "no client called west is on the list of those that may take part; its line needs its "
            "public key");
  IdentityCheck none, unlisted;
  EXPECT_EQ(none.Prove("north", list_).why, unlisted.Prove("west", list_).why);
}

TEST_F(IdentityCheckTest, OtherProofsAreNone) {
  const auto denied = [&](auto proof_of) {
    IdentityCheck check;
    const Encounter encounter = Introduce(check, "north");
    Must(check.TakeProof(proof_of(encounter)));
    return Denied(check, "north");
  };
  const char* const wrong = "it does not prove that it is north: the list has another key";
  EXPECT_THAT(denied([&](const Encounter& e) { return ProofOf(e, south_); }), HasSubstr(wrong));
  EXPECT_THAT(denied([&](const Encounter&) { return Bytes(64); }), HasSubstr(wrong));
  EXPECT_THAT(denied([&](const Encounter&) { return Bytes(); }),
              HasSubstr("start it with the file of its identity key"));
  // Over another connection, as a process between the two would have it.
  EXPECT_THAT(denied([&](Encounter e) {
                e.binding = {4, 5, 6};
                return ProofOf(e, north_);
              }),
              HasSubstr(wrong));
  // Recorded from an earlier connection.
  IdentityCheck before;
  const Bytes recorded = ProofOf(Introduce(before, "north"), north_);
  Must(before.TakeProof(recorded));
  EXPECT_TRUE(before.Prove("north", list_).key);
  EXPECT_THAT(denied([&](const Encounter&) { return recorded; }), HasSubstr(wrong));
}

TEST_F(IdentityCheckTest, FramesHaveTheirTurn) {
  IdentityCheck check;
  EXPECT_THAT(Denied(check, "north"), HasSubstr("takes clients that prove their names"));
  EXPECT_EQ(check.Allowed(FrameKind::kIntroduce), kMostIntroduction);
  EXPECT_EQ(check.Allowed(FrameKind::kProof), std::nullopt);
  EXPECT_EQ(check.Allowed(FrameKind::kReport), std::nullopt);
  const Encounter encounter = Introduce(check, "north");
  EXPECT_EQ(check.Allowed(FrameKind::kIntroduce), std::nullopt) << "one name per connection";
  EXPECT_EQ(check.Allowed(FrameKind::kProof), kMostProof);
  EXPECT_TRUE(absl::IsDataLoss(check.TakeProof(Bytes(63))));
  Must(check.TakeProof(ProofOf(encounter, north_)));
  EXPECT_EQ(check.Allowed(FrameKind::kProof), std::nullopt);
  IdentityCheck other;
  EXPECT_FALSE(other.Introduce(Bytes(3), kBinding, true, std::nullopt).ok());
}

TEST_F(IdentityCheckTest, TheAggregatorSignsWhereItHasAKey) {
  Encounter encounter = {.client = {.name = "north"}, .binding = kBinding};
  encounter.client.nonce.fill(9);
  IdentityCheck check;
  const Challenge challenge = Must(ChallengeFromBytes(
      Must(check.Introduce(ToBytes(encounter.client), kBinding, false, south_))));
  EXPECT_FALSE(challenge.wants_proof);
  EXPECT_EQ(check.Allowed(FrameKind::kProof), std::nullopt) << "none is wanted";
  encounter.aggregator_nonce = challenge.nonce;
  ASSERT_TRUE(challenge.signature);
  const Ed25519PublicKey key = Must(Ed25519PublicKeyOf(south_));
  EXPECT_TRUE(Must(ProvesEncounter(Side::kAggregator, encounter, key, *challenge.signature)));
  EXPECT_FALSE(Must(ProvesEncounter(Side::kClient, encounter, key, *challenge.signature)))
      << "it is worth nothing as the proof of a client with the same key";
}

}  // namespace
}  // namespace dtnn::federation
