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
    const absl::Status status = check.Prove(name, list_).status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    return std::string(status.message());
  }

  const Secret north_ = Must(RandomSecret()), south_ = Must(RandomSecret());
  const AllowedClients list_ = ListOf({{"north", north_}, {"south", south_}});
};

TEST_F(IdentityCheckTest, TheOwnerOfTheKeyIsTheClientOfItsNameOnly) {
  IdentityCheck check;
  const Encounter encounter = Introduce(check, "north");
  EXPECT_EQ(check.name(), "north");
  Must(check.TakeProof(ProofOf(encounter, north_)));
  EXPECT_EQ(Must(check.Prove("north", list_)), Must(Ed25519PublicKeyOf(north_)));
  EXPECT_THAT(Denied(check, "south"), HasSubstr("has proved to be north, and takes part as south"));
  EXPECT_THAT(Denied(check, "west"), HasSubstr("no client called west is on the list"));
  const AllowedClients other = ListOf({{"north", south_}});
  EXPECT_THAT(std::string(check.Prove("north", other).status().message()),
              HasSubstr("the list has another key for this name"))
      << "the list of the moment counts";
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
  EXPECT_TRUE(before.Prove("north", list_).ok());
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
